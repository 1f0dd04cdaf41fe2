# SPDX-License-Identifier: Apache-2.0

"""The definitions of the options: a module for those that belong together.

:mod:`rbd_volume_options.registry` has all of them, in the order of forms.
"""
