"""What each pool of workers has to do, measured from outside, and how many workers that takes."""
