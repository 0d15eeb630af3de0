"""Descent with noisy gradients: a run whose steps to a target can be counted for any batch."""

from .checks import positive, whole


def steps_until(
    fraction: float, batch: int, noise: float, share: float = 0.02, width: int = 32, seed: int = 0
) -> int:
    r"""Steps of gradient descent on $\frac12|\theta|^2$ until it has fallen to a fraction.

    A step averages the gradients of ``batch`` examples. Each is $\theta$ with a random
    error whose squared length is ``noise`` times $|\theta|^2$ on average. The rate is
    ``share`` of 1/(1 + noise/batch), at which one step gains most.

    Raises:
        ValueError: an argument out of range, or a fraction that is not below 1.

    Example:
        >>> steps_until(0.01, batch=256, noise=16) < steps_until(0.01, batch=8, noise=16)
        True
    """
    import numpy as np

    positive(fraction=fraction, noise=noise, share=share)
    whole(batch=batch, width=width)
    if fraction >= 1:
        raise ValueError(f"fraction = {fraction!r}: must be below 1")
    draw = np.random.default_rng(seed).normal
    rate = share / (1 + noise / batch)
    theta, steps = np.ones(width), 0
    target = fraction * theta @ theta
    while theta @ theta > target:
        error = np.sqrt(noise * (theta @ theta) / width)
        examples = theta + error * draw(size=(batch, width))
        theta = theta - rate * examples.mean(axis=0)
        steps += 1
    return steps
