import { defined } from '#bundles/defined';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import type { ReceiverSettings } from '../settings/alarm-settings.ts';

/** A kind of receivers, and the name of one of them; undefined: the first, or a new one. */
export type Addressed = { readonly kind: 'email' | 'webhook'; readonly name: string | undefined };

const NAMES: Readonly<Record<Addressed['kind'], string>> = { email: 'mail', webhook: 'webhook' };

/** The receiver of alarms that setup asks about. */
export const receiverOf = (
  { alarms }: SchedulerConfig,
  { kind, name }: Addressed,
): ReceiverSettings | undefined =>
  alarms?.receivers.find((one) => one[kind] !== undefined && (name === undefined || one.name === name));

/** Names of the receivers of this kind. */
export const namesOfReceivers = ({ alarms }: SchedulerConfig, kind: Addressed['kind']): readonly string[] =>
  alarms?.receivers.filter((one) => one[kind] !== undefined).map(({ name }) => name) ?? [];

/** Its name, or the name that a new one gets. */
export const nameOfReceiver = (settings: SchedulerConfig, addressed: Addressed): string => {
  const { kind, name } = addressed;
  const found = receiverOf(settings, addressed)?.name ?? name;
  if (found !== undefined) return found;
  const taken = new Set(settings.alarms?.receivers.map((one) => one.name));
  const free = [NAMES[kind], ...[2, 3, 4].map((number) => `${NAMES[kind]}-${number}`)];
  return free.find((one) => !taken.has(one)) ?? NAMES[kind];
};

/** Whether the name is of a receiver of another kind. */
export const isOfOtherKind = ({ alarms }: SchedulerConfig, kind: Addressed['kind'], name: string): boolean =>
  alarms?.receivers.some((one) => one.name === name && one[kind] === undefined) ?? false;

/** Gives the receiver these settings, beside those that it has; undefined removes one. */
export const putReceiver = (
  settings: SchedulerConfig,
  addressed: Addressed,
  change: Readonly<Record<string, string | readonly string[] | undefined>>,
): SchedulerConfig => {
  const { kind } = addressed;
  const { receivers, ...others } = settings.alarms ?? { receivers: [] };
  const old = receiverOf(settings, addressed);
  const changed = {
    ...(old ?? { name: nameOfReceiver(settings, addressed) }),
    [kind]: defined({ ...old?.[kind], ...change }),
  } as unknown as ReceiverSettings;
  const all = old ? receivers.map((one) => (one === old ? changed : one)) : [...receivers, changed];
  return { ...settings, alarms: { ...others, receivers: all } };
};
