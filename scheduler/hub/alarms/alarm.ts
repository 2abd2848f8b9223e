import { defined } from '#bundles/defined';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import type { AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import type { Timestamp } from '#bundles/time';
import type { Severity } from '../../model/severity.ts';

/** Every alarm that the hub can raise, with its remedy (docs/operations/alarms.md, tested both ways). */
export const ALARMS = {
  AGENT_LATE:
    'Check the network of the site, or import the reports of its next medium; at the site: fleet-agent doctor',
  AGENT_SILENT: 'Check the machine and its network; on the machine: fleet-agent status',
  SERVICE_STOPPED:
    'Start the service on the machine: systemctl enable --now fleet-agent; until then nothing is applied or corrected there',
  REBOOT_OVERDUE:
    'Reboot the host, or let the agent do it with reboot of its ClusterType; "fleet-agent status" names what it waits for',
  MEDIUM_OVERDUE: 'Ask who carries media to the site, and import the reports: fleet-scheduler reports import',
  PACKAGE_FAILED: 'Look at the failure with "fleet-scheduler status", correct the workload, or roll back',
  PACKAGE_DRIFTED: 'Show the difference with "fleet-agent diff" at the site, and find what changed it',
  DRIFT_FIGHTS:
    'Find what writes the same objects, such as an operator, a cron job or a second agent, and stop one of them',
  REPORT_GAP: 'Import the medium with the missing reports; the agent sends what it still has',
  REPORT_CHAIN:
    'Find out who else has the key of the agent; if its disk was lost or restored, enroll it again with a new key',
  KEY_COPIED:
    'Find out who else has the key of the agent, and enroll the right machine again with a new key: fleet-scheduler sites enroll --replace-key',
  REPORT_ROLLBACK:
    'Find out whether an older disk was put back; if it was, enroll the agent again with a new key',
  RELEASE_NOT_TAKEN:
    'Find out why the release does not arrive: compare the registry of the site, or the media that travel there, with the layout; at the site, fleet-agent status says what was refused',
  RELEASE_UNKNOWN:
    'Publish and export nothing from this layout: put back its newest copy, or find the other layout that has the same keys; then: fleet-scheduler restore --in-place',
  AUDIT_LOG_CHANGED:
    'Find out who can write to the layout; put back its newest copy, then: fleet-scheduler restore --in-place',
  GATE_WAITS: 'Approve or promote it, or reject it: fleet-scheduler promote --explain',
  CHANNEL_UNRELEASED: 'Build and promote a release for the channel, or move the agents to another channel',
  RELEASE_REFUSED:
    'Build the channel again, or restore the layout from its backup; the summary has the error',
  RELEASE_WAITS: 'Correct the platform, or allow the removals: fleet-scheduler build --allow-removals',
  ASSIGNMENT_HELD: 'Correct the workload: fleet-scheduler validate',
  ASSIGNMENT_TAKEN_BACK:
    'When the fault is corrected, end the rollback with: fleet-scheduler releases rollback --resume',
  BUILD_FAILS:
    'Correct the error, which the log of the hub has in full; the hub builds again when a repository changes',
  ROOT_ENDS: 'Sign the next root with the officers: fleet-scheduler root rotate',
  CERTIFICATE_ENDS: 'Renew the certificate or the authority, then restart the hub',
  RELEASE_ENDS: 'Renew it with fleet-scheduler releases renew; the log of the hub says why the hub does not',
  LEASE_ENDS: 'Renew it with fleet-scheduler lease renew; the log of the hub says why the hub does not',
  SITE_STATEMENT_ENDS: 'Sign it again with: fleet-scheduler sites renew',
  RECEIVER_FAILS: 'Correct the address or the secret of the receiver in the configuration of the hub',
  TOO_MANY_ALARMS: 'Correct the causes of the open alarms: further ones are only counted',
} as const satisfies Record<string, string>;

export type AlarmKind = keyof typeof ALARMS;

export type Alarm = {
  /** Of kind and subject: the same condition has the same id at every hub and in every round. */
  readonly id: string;
  readonly kind: AlarmKind;
  readonly severity: Severity;
  readonly subject: AlarmSubject;
  /** When the condition began. */
  readonly since: Timestamp;
  /** One plain sentence. */
  readonly summary: string;
  /** Text shared with other alarms that one act may end, such as code and failed checks; '': kind and subject say it. */
  readonly cause: string;
};

/** Fields of the subject that do not name it: a workload that moves to another workspace is the same one. */
const idOf = (kind: AlarmKind, { workspace: _, workload: __, ...subject }: AlarmSubject): string => {
  const digest: Digest = digestOf(canonicalJson({ kind, ...subject }));
  return `alarm_${hexOf(digest).slice(0, 40)}`;
};

/**
 * Names the group of an alarm: one kind, cause, environment, owner and assignment, wherever it is. A person who may handle one alarm of a group
 * may handle all of them.
 */
export const causeIdOf = ({ kind, cause, subject }: Pick<Alarm, 'kind' | 'cause' | 'subject'>): string => {
  const { environment, workspace, assignment } = subject;
  const named = defined({ kind, cause, environment, workspace, assignment });
  return `cause_${hexOf(digestOf(canonicalJson(named))).slice(0, 40)}`;
};

export const createAlarm = (
  kind: AlarmKind,
  severity: Severity,
  subject: AlarmSubject,
  since: Timestamp,
  summary: string,
): Alarm => ({ id: idOf(kind, subject), kind, severity, subject, since, summary, cause: '' });
