"""What the page of the arena says about its instances, policies and numbers."""

from thrifty.lab.arena.suite import LARGEST, LONGEST, UNSEEN
from thrifty.report.wording import power

TITLES = {
    "unseen": "Instances never used for tuning",
    "kinds": "Other kinds of instances and rewards",
    "tuned": "Instances used for tuning",
}
ABOUT = {
    "unseen": "Of 24 instances that were drawn after the policy thrifty was finished, with random "
    f"seeds derived from a commit, the first {UNSEEN} whose rows times squared dimension are at "
    f"most {LARGEST:,}: larger ones take some policies too long. They are of the same family as "
    "most instances that thrifty was developed on. Their arms are in random order.",
    "kinds": "Instances and rewards of kinds on which neither the rivals were tuned nor the "
    "defaults of thrifty chosen, drawn after it was finished, with random seeds derived from a "
    "commit: plain bandits, products of features, rewards 0 and 1, heavy tails, and a noise that "
    "policies are told wrongly. (Other instances of these kinds were looked at before: five by "
    "its prototypes, and an earlier draw in arenas of its earlier versions.) thrifty estimates "
    "the noise and its rivals believe what they are told: thrifty:noise=known believes it, too. "
    f"Up to n = {power(LONGEST['kinds'])}.",
    "tuned": "Instances of the paper and of the literature, and earlier draws. They were used "
    "while the policy thrifty was developed, and rivals were tuned on some of them, so results "
    "here are optimistic.",
}
ABOUT_KINDS = {
    "k-armed": "Plain bandits of 10 and 20 arms, with Gaussian rewards.",
    "product": "Products of the features of six contexts and of five arms, in 9 dimensions.",
    "bernoulli": "Plain bandits of 5 and 10 arms with rewards 0 and 1; policies are told a noise "
    "of 1/2.",
    "told-double": "Two drawn instances; policies are told twice the noise that there is.",
    "told-half": "Two other ones; policies are told half of the noise that there is.",
    "student": "Two more, with heavy-tailed noise: Student's t with four degrees of freedom.",
}
SHORT = (
    "Regret of thrifty relative to that of lints, and the rivals with the least; what the columns "
    "mean is said above."
)
KIND_NUMBERS = (
    "Relative regret with its standard error over replications; the last column has their numbers "
    "by horizon."
)
LEAD = (
    "Every policy on many instances, ranked by regret relative to that of heuristic Thompson "
    "sampling (lints) with the same contexts and noise: the geometric mean over instances of the "
    "ratio of mean regrets.",
    "The values of a policy's parameters are published: those of its paper where that gives them, "
    "else those in docs/policies.md (for OAM epsilon is the paper's, and c = 1); or tuned: by one "
    "rule for all rivals, on instances that are not ranked on below (docs/tuning.md); or both, "
    "where these are the same. thrifty is our own: it was developed, and its defaults were "
    "chosen, on instances that include those. Policies "
    "with a prior, lints among them, assume theta ~ N(0, I), which suits instances with |theta| "
    "from 0.2 to 3; thrifty widens it if theta is longer or an unknown noise far larger. vids has "
    "50 samples of the posterior in each round, to save time; with more it may rank elsewhere.",
    "All policies play the same number of replications. In a full arena the five best rivals of a "
    "group at a horizon, lints and our own policies then play more, in addition to those that have "
    "chosen them; a ratio uses the replications that a policy shares with lints. The first "
    "standard error of a ratio is over replications of these instances, the second over "
    "instances, as if they were drawn at random.",
    "Ranks are ranges: one more than the number of policies that are clearly better, up to the "
    "number of those that are not clearly worse. Clearly is by more than two standard errors of "
    "the difference of mean logarithms on shared replications, both sources together; at most "
    "about one in twenty pairs of equal policies would differ clearly by chance. Policies that "
    "cannot play all instances, or have a single replication, have no rank.",
    "CVaR is about bad runs: the mean of the worst 2 % of the runs on an instance, relative to the "
    "worst 2 % of lints, shown from 100 replications on, with its standard error by resampling "
    "replications. Runs that are bad less often than one in fifty hardly show, and medians do not "
    "show them at all. The column worst has the largest ratio on one instance; part of it is "
    "chance, since it is the largest of many. A run is stuck if its last tenth costs more than "
    "half of the regret of the worst arms: one that stays on a less bad arm is not counted, but "
    "counts in CVaR.",
    "Covered are linear rewards, one to ten contexts that come at random, some of them rare, two "
    "to twenty arms, 2 to 20 dimensions (at most 5 in the first group), noise from 0.1 to 2. "
    "Not covered: larger problems, means that are not linear, arms or rewards that change over "
    "time, late rewards, and horizons beyond those below.",
)
