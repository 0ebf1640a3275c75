"""Many seeds in one test: as many cases would cost more than what they do."""

from collections.abc import Callable, Iterable


def for_seeds(seeds: Iterable[int]) -> Callable[[Callable[[int], None]], Callable[[], None]]:
    """Call a test of one seed with each of them; a failure has a note with its seed."""

    def decorator(test: Callable[[int], None]) -> Callable[[], None]:
        def all_seeds() -> None:
            for seed in seeds:
                try:
                    test(seed)
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise

        all_seeds.__name__, all_seeds.__doc__ = test.__name__, test.__doc__
        return all_seeds

    return decorator
