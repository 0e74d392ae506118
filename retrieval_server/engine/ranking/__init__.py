"""From ranked lists to candidates in order: fusion, margins, signals, priors, profiles, a second look."""
