# SPDX-License-Identifier: Apache-2.0

"""The URLs of the panel."""

from django.urls import path

from horizon_volume_opts.admin_images import views

urlpatterns = [
    path('', views.IndexView.as_view(), name='index'),
]
