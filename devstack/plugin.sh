#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# DevStack plug-in: RBD volume options for Cinder, Glance, Nova and Horizon.
#
# DevStack sources this file with a mode and a phase. What each service needs
# is in the file of lib/ with its name; here is only when it happens. In clean
# mode stack.sh's own functions (echo_summary) don't exist.

# Save trace setting
_XTRACE_RBD_VOLUME_OPTIONS=$(set +o | grep xtrace)
set +o xtrace

source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/ini"
source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/cinder"
source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/glance"
source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/nova"
source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/horizon"
source "$RBD_VOLUME_OPTIONS_DIR/devstack/lib/tempest"

# install_rbd_volume_options() - Install the distribution where services are
function install_rbd_volume_options {
    # The client's extra: cinder-rbd-ext and "openstack volume rbd".
    setup_develop "$RBD_VOLUME_OPTIONS_DIR" client
}

# check_rbd_volume_options_order() - Stop where Ceph's plug-in comes later
#
# It writes Glance's configuration in the same phase as this one, and would
# write over what is set here.
function check_rbd_volume_options_order {
    local plugin
    local seen="False"
    for plugin in ${DEVSTACK_PLUGINS//,/ }; do
        if [[ "${GITDIR[$plugin]}" == "$RBD_VOLUME_OPTIONS_DIR" ]]; then
            seen="True"
        elif [[ "$seen $plugin" == "True devstack-plugin-ceph" ]]; then
            die $LINENO "local.conf enables devstack-plugin-ceph after" \
                "this plug-in; enable it before"
        fi
    done
}

# uninstall_rbd_volume_options() - Remove the distribution
function uninstall_rbd_volume_options {
    # pip_uninstall searches only the virtual environment that it is given.
    if [[ "${GLOBAL_VENV:-False}" == "True" ]]; then
        # shellcheck disable=SC2034
        local PIP_VIRTUAL_ENV=$DEVSTACK_VENV
    fi
    pip_uninstall rbd-volume-options
    rm -rf "$RBD_VOLUME_OPTIONS_DIR"/*.egg-info
}

if [[ "$1" == "stack" && "$2" == "install" ]]; then
    check_rbd_volume_options_order
    echo_summary "Installing RBD volume options"
    install_rbd_volume_options

elif [[ "$1" == "stack" && "$2" == "post-config" ]]; then
    echo_summary "Configuring RBD volume options"
    configure_rbd_volume_options_cinder
    configure_rbd_volume_options_glance
    configure_rbd_volume_options_nova
    configure_rbd_volume_options_horizon

elif [[ "$1" == "stack" && "$2" == "extra" ]]; then
    echo_summary "Initializing RBD volume options"
    init_rbd_volume_options_cinder

elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
    configure_rbd_volume_options_tempest

elif [[ "$1" == "unstack" ]]; then
    # Services are DevStack's to stop, and configuration stays for the next
    # stack.sh.
    :

elif [[ "$1" == "clean" ]]; then
    cleanup_rbd_volume_options_tempest
    cleanup_rbd_volume_options_horizon
    cleanup_rbd_volume_options_nova
    cleanup_rbd_volume_options_glance
    cleanup_rbd_volume_options_cinder
    uninstall_rbd_volume_options
fi

# Restore xtrace
$_XTRACE_RBD_VOLUME_OPTIONS
