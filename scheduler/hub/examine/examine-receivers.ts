import type { Dispatcher } from 'undici';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import type { Configuration } from '../../settings/configuration.ts';
import type { ReceiverSettings } from '../../settings/alarm-settings.ts';
import { carrierOf } from '../alarms/send-alarms.ts';
import type { Part } from './finding.ts';

export type ReceiverOptions = {
  readonly env: NodeJS.ProcessEnv;
  readonly now: Date;
  /** Name of the fleet in messages. */
  readonly fleet: () => Promise<string>;
  /** Address that mail servers are given a test message for. */
  readonly sendTo: string | undefined;
};

/** Receivers of alarms, with login or secret and without an alarm. */
export const receiverParts = (
  configuration: Configuration,
  { env, now, fleet, sendTo }: ReceiverOptions,
): readonly Part[] =>
  (configuration.alarms?.receivers ?? []).map((receiver, number) => ({
    name: `receiver ${receiver.name}`,
    path: ['alarms', 'receivers', number, kindOf(receiver)],
    attempt: async (signal) => {
      const registry = registryOptions({ ...configuration, env });
      let opened: Dispatcher | undefined;
      const connections = () => (opened ??= openConnections(registry));
      try {
        const { plainHttp } = configuration;
        const carrier = carrierOf(receiver, { connections, plainHttp, ca: registry.ca });
        const { kind, message } = await carrier.examine({ fleet: await fleet(), now, signal, sendTo });
        if (kind === 'answers') return message;
        return { verdict: 'bad', message: `${message}. Check its address, and its secret or login.` };
      } finally {
        await opened?.destroy();
      }
    },
  }));

const kindOf = ({ webhook, email }: ReceiverSettings): string => {
  if (webhook) return 'webhook';
  return email ? 'email' : 'alertmanager';
};
