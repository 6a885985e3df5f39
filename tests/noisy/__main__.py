from tests.noisy.run import main

main()
