import { defined } from '#bundles/defined';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import type { ReceiverSettings } from '../settings/alarm-settings.ts';

type Kind = 'email' | 'webhook';

const NAMES: Readonly<Record<Kind, string>> = { email: 'mail', webhook: 'webhook' };

/** The first receiver of alarms of this kind; setup asks about this one. */
export const receiverOf = ({ alarms }: SchedulerConfig, kind: Kind): ReceiverSettings | undefined =>
  alarms?.receivers.find((receiver) => receiver[kind] !== undefined);

/** Its name, or the name that a new one gets. */
export const nameOfReceiver = (settings: SchedulerConfig, kind: Kind): string => {
  const found = receiverOf(settings, kind);
  if (found) return found.name;
  const taken = new Set(settings.alarms?.receivers.map(({ name }) => name));
  const free = [NAMES[kind], ...[2, 3, 4].map((number) => `${NAMES[kind]}-${number}`)];
  return free.find((name) => !taken.has(name)) ?? NAMES[kind];
};

/** Gives the receiver of this kind these settings, beside those that it has; undefined removes one. */
export const putReceiver = (
  settings: SchedulerConfig,
  kind: Kind,
  change: Readonly<Record<string, string | readonly string[] | undefined>>,
): SchedulerConfig => {
  const { receivers, ...others } = settings.alarms ?? { receivers: [] };
  const old = receiverOf(settings, kind);
  const changed = {
    ...(old ?? { name: nameOfReceiver(settings, kind) }),
    [kind]: defined({ ...old?.[kind], ...change }),
  } as unknown as ReceiverSettings;
  const all = old ? receivers.map((one) => (one === old ? changed : one)) : [...receivers, changed];
  return { ...settings, alarms: { ...others, receivers: all } };
};
