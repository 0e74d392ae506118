"""Int8 matrices are near the float ones, and small enough never to overflow."""

import numpy as np

from groundwire.models.quantisation import MATRIX_PEAK, quantise_columns, smoothing_factors


def test_every_element_is_within_half_a_step_and_zeros_stay_zero():
    matrix = np.array([[1.0, 0.0, -200.0], [-0.3, 0.0, 3.0]], np.float32)
    quantised = quantise_columns(matrix, MATRIX_PEAK)
    assert quantised.values.dtype == np.int8
    assert quantised.values.tolist() == [[64, 0, -64], [-19, 0, 1]]
    assert np.all(np.abs(quantised.values * quantised.scales - matrix) <= quantised.scales / 2 + 1e-6)


def test_a_sum_of_two_products_fits_in_16_bits():
    """What processors without VNNI add up in 16 bits, saturating."""
    assert np.iinfo(np.int16).max >= 2 * 255 * MATRIX_PEAK


def test_smoothing_evens_out_what_the_input_and_the_matrix_reach():
    matrix = np.array([[0.5, -0.1], [0.02, 0.04], [1.0, 2.0]], np.float32)
    norm_weight, norm_bias = np.array([1.0, 9.0, 0.0], np.float32), np.array([0.0, -1.0, 0.0], np.float32)
    factors = smoothing_factors(matrix, norm_weight, norm_bias)
    reach = np.array([3.0, 28.0])
    np.testing.assert_allclose(reach / factors[:2], np.abs(matrix * factors[:, None]).max(axis=1)[:2], rtol=1e-6)
    assert factors[2] == 1, "a channel that is always zero is left alone"
