package io.jenkins.plugins.preemptible.step;

import hudson.Extension;
import hudson.model.Item;
import hudson.model.Job;
import hudson.model.Queue;
import hudson.model.listeners.ItemListener;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * Keeps stages with their builds when a job is moved to another folder, which Jenkins allows while it is built.
 *
 * <ol>
 *   <li>Builds are known by their job's full name, also in files; a folder that is moved tells of each job in it.
 *   <li>The records of stages that have begun get the new name, and so do the queue's items of those that have not.
 *   <li>A stage that begins, and whatever Pipeline itself asks, goes by the build, not by its name.
 * </ol>
 */
@Extension
public final class MovedJobs extends ItemListener {

    @Override
    public void onLocationChanged(Item item, String from, String to) {
        if (!(item instanceof Job)) {
            return;
        }
        StageRegistry.get().jobMoved(from, to);
        // The user who moves the job need not be allowed to see its items.
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            for (Queue.Item queued : Queue.getInstance().getItems()) {
                if (queued.task instanceof StageTask) {
                    ((StageTask) queued.task).jobMoved(from, to);
                }
            }
        }
    }
}
