package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Item;
import hudson.security.Permission;
import java.util.HashMap;
import java.util.Map;
import jenkins.model.Jenkins;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.core.Authentication;

/**
 * The jobs that one user may read, by full name. A page has many rows of few jobs, and an authorization may be slow: each
 * job is looked up once in a request, and each of its permissions is checked once.
 *
 * <p>Used by the thread of the request. What is looked up outside of a request is not kept.
 */
public final class ReadableJobs {

    private static final String KEY = ReadableJobs.class.getName();

    /** @param item null when there is none that the user may read */
    private record Found(@CheckForNull Item item, Map<Permission, Boolean> permissions) {}

    private final Authentication reader;
    private final Map<String, Found> byName = new HashMap<>();

    private ReadableJobs(Authentication reader) {
        this.reader = reader;
    }

    /** Of the current user; within a request, what this user was shown before. */
    public static ReadableJobs get() {
        StaplerRequest2 request = Stapler.getCurrentRequest2();
        Authentication reader = Jenkins.getAuthentication2();
        // A part of the request may act as another user.
        if (request != null && request.getAttribute(KEY) instanceof ReadableJobs known && known.reader.equals(reader)) {
            return known;
        }
        ReadableJobs fresh = new ReadableJobs(reader);
        if (request != null) {
            request.setAttribute(KEY, fresh);
        }
        return fresh;
    }

    /** @return null when the user may not read it, or when there is none of this full name */
    @CheckForNull
    public Item find(String job) {
        return found(job).item;
    }

    /** Whether the user may read the job and has that permission on it. */
    public boolean permits(String job, Permission permission) {
        Found found = found(job);
        return found.item != null
                && found.permissions.computeIfAbsent(permission, wanted -> found.item.hasPermission(wanted));
    }

    private Found found(String job) {
        return byName.computeIfAbsent(job, name -> new Found(item(name), new HashMap<>()));
    }

    @CheckForNull
    private static Item item(String job) {
        try {
            return Jenkins.get().getItemByFullName(job);
        } catch (AccessDeniedException x) {
            // They may know that there is such a job, and no more.
            return null;
        }
    }
}
