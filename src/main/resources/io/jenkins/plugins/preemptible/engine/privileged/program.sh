#!/bin/sh
# The privileged part of preemptible stages, called by sudo with a verb and the id of a stage.
# Made by 'preempt install-helper'; docs/security.md argues every line of it.
cd / || exit 2
exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/ SUDO_UID="${SUDO_UID-}" \
  @JAVA@ -XX:+UseSerialGC -Xshare:auto -Xmx1g \
  -XX:-UsePerfData -XX:+DisableAttachMechanism -XX:-CreateCoredumpOnCrash -XX:ErrorFile=/dev/null \
  -Djava.io.tmpdir=@STORE@/tmp \
  -Dpreemptible.store=@STORE@ -Dpreemptible.criu=@LIBRARY@/criu \
  -cp '@LIBRARY@/engine/*' io.jenkins.plugins.preemptible.engine.privileged.PrivilegedMain "$@"
