from benchmarks.noisy.run import main

main()
