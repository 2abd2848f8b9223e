import type { Generated } from 'kysely';
import type { Timestamp } from '#bundles/time';

/** A condition that the hub raises an alarm about (hub/alarms), kept until every receiver knows that it is over. */
export type OpenAlarmRow = {
  /** Alarm.id: names kind and subject. */
  readonly id: string;
  readonly kind: string;
  readonly severity: string;
  /** AlarmSubject, canonical JSON. */
  readonly subject: string;
  readonly since: Timestamp;
  readonly summary: string;
  /** When the hub first saw it. Another time is another episode, which has notices of its own. */
  readonly opened_at: Timestamp;
  /** When the hub first found the condition gone; null: it lasts. */
  readonly gone_at: Timestamp | null;
  /** Alarm.cause, and causeIdOf. null: an earlier version wrote the row; the next round sets both. */
  readonly cause: string | null;
  readonly cause_id: string | null;
};

/** A person works on an open alarm. Ends with the episode of the alarm. */
export type AlarmAcknowledgedRow = {
  readonly alarm: string;
  /** The episode. */
  readonly opened_at: Timestamp;
  readonly person: string;
  readonly reason: string;
  readonly at: Timestamp;
};

/** No notices about an alarm, or about all of one cause, until a time. */
export type AlarmSilenceRow = {
  /** Id of an alarm, or of a cause. */
  readonly target: string;
  readonly at: Timestamp;
  /** AboutAlarms (hub/alarms/handle-alarms.ts), canonical JSON: kept for when the alarms are over. */
  readonly about: string;
  readonly person: string;
  readonly reason: string;
  readonly until_at: Timestamp;
  /** When and by whom it was ended before `until_at`; null: nobody ended it. */
  readonly ended_at: Timestamp | null;
  readonly ended_by: string | null;
};

/** An alarm whose condition is gone. */
export type PastAlarmRow = Omit<OpenAlarmRow, 'gone_at'> & {
  readonly gone_at: Timestamp;
  /** Person who had acknowledged it; null: it resolved without one. */
  readonly acknowledged_by: string | null;
};

/** The last notice about an alarm that a receiver took, so that each is sent once. */
export type AlarmSentRow = {
  readonly receiver: string;
  readonly alarm: string;
  /** The episode that it was about. */
  readonly opened_at: Timestamp;
  readonly severity: string;
  /** Of the last one that it took. */
  readonly sent_at: Timestamp;
  /** Change in the notice that it refused and that is sent again at `next_at`; null: it accepted the last one. */
  readonly refused_what: string | null;
  readonly refused_at: Timestamp | null;
  readonly refusals: Generated<number>;
  readonly next_at: Timestamp | null;
  /** Its answer. */
  readonly refusal: string | null;
};

/** A receiver that takes no notices at present; the others have no row. */
export type AlarmReceiverRow = {
  readonly name: string;
  readonly failing_since: Timestamp;
  /** In a row. */
  readonly failures: number;
  readonly next_at: Timestamp;
  readonly message: string;
};
