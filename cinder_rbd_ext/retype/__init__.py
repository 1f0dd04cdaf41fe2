# SPDX-License-Identifier: Apache-2.0

"""Retypes: changes of the features, the layout and the data pool of images."""
