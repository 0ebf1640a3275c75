"""The command that compiles everything: warm-up."""


def warm_up() -> None:
    """Compile the solver and all policies for this machine; takes minutes, once per version."""
    from thrifty.allocation.bound import lower_bound
    from thrifty.extending.conformance import LearnerPlayer
    from thrifty.policies import POLICIES, policy
    from thrifty.problem.catalog import instance
    from thrifty.simulation.replication import simulate
    from thrifty.studies.progress import progress_bar

    problem = instance("fixed-u0.1")  # one context: every policy can play it
    steps = len(POLICIES) + 1
    with progress_bar("compiling", steps) as bar:
        bar.advance(0, text=f"compiling 1 of {steps}: the solver")
        lower_bound(instance("large-100"))
        for i, name in enumerate(POLICIES, start=2):
            bar.advance(text=f"compiling {i} of {steps}: {name}")
            simulate(problem, policy(name), horizon=10)
            simulate(problem, LearnerPlayer(policy(name), seed=0), horizon=10)
        bar.advance()
    print(f"compiled the solver and {len(POLICIES)} policies")
