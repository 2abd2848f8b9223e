import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';

export type SecretSource = 'typed' | 'random';

/** A question of setup, and the setting that its answer becomes. */
export type Question = {
  /** Name for --set: 'signIn.issuer'. */
  readonly name: string;
  readonly asks: string;
  /** An answer that fits, shown as an example. */
  readonly example: string;
  /** The present value, or a default; undefined: there is neither. @param before the settings before the first answer about the topic */
  readonly preset?: (settings: SchedulerConfig, before: SchedulerConfig) => string | undefined;
  /** The settings with this answer. An empty answer to an optional question leaves the setting out. */
  readonly put: (settings: SchedulerConfig, answer: string) => SchedulerConfig;
  /** Asked only if true. */
  readonly when?: (settings: SchedulerConfig) => boolean;
  readonly isOptional?: boolean;
  /** The answer names a file with a secret. If the file is missing, its content is typed, or made of random bytes. */
  readonly secret?: {
    readonly from: SecretSource;
    /** undefined: the settings name none. */
    readonly fileOf: (settings: SchedulerConfig) => string | undefined;
  };
};

/** Questions that belong together. */
export type Topic = {
  readonly name: TopicName;
  readonly title: string;
  /** Whether the settings already have it. */
  readonly isSet: (settings: SchedulerConfig) => boolean;
  readonly questions: readonly Question[];
  /** There may be several of these: the answer to this question names the one that is meant, or a new one. */
  readonly receiver?: {
    /** Name for --set: 'mail.name'. */
    readonly question: string;
    readonly kind: 'email' | 'webhook';
    readonly topicOf: (name: string) => Topic;
  };
  /** The parts of `serve --check` that these settings are about. */
  readonly parts: (settings: SchedulerConfig) => readonly string[];
  /** Steps that are left to people, as sentences. */
  readonly next: (settings: SchedulerConfig) => readonly string[];
};

/** Names for --set of all that a topic asks. */
export const questionNames = ({ questions, receiver }: Topic): readonly string[] => [
  ...(receiver ? [receiver.question] : []),
  ...questions.map(({ name }) => name),
];

export const TOPIC_NAMES = ['hub', 'sign-in', 'mail', 'webhook', 'forge'] as const;
export type TopicName = (typeof TOPIC_NAMES)[number];
