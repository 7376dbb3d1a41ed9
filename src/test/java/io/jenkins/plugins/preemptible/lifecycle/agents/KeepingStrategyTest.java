package io.jenkins.plugins.preemptible.lifecycle.agents;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import hudson.slaves.RetentionStrategy;
import jenkins.model.Jenkins;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What a node's file says while a strategy stands in. */
@WithJenkins
class KeepingStrategyTest {

    @Test
    @SuppressWarnings({"unchecked", "rawtypes"})
    void isReadAsTheAgentsOwnUnderItsOldNameToo(JenkinsRule j) {
        RetentionStrategy own = new RetentionStrategy.Always();
        String now = Jenkins.XSTREAM2.toXML(new KeepingStrategy(own));
        String before = now.replace("lifecycle.agents.KeepingStrategy", "lifecycle.KeepingStrategy");
        assertNotEquals(now, before);
        assertInstanceOf(RetentionStrategy.Always.class, Jenkins.XSTREAM2.fromXML(now));
        assertInstanceOf(RetentionStrategy.Always.class, Jenkins.XSTREAM2.fromXML(before));
    }
}
