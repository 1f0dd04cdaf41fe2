# SPDX-License-Identifier: Apache-2.0

"""Operations on existing volumes."""
