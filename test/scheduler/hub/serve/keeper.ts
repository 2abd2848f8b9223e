import { join } from 'node:path';
import { addDays } from '#bundles/time';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { type KeepOptions, createKeepCurrent } from '../../../../scheduler/hub/serve/keep-current.ts';
import { channelPublisher } from '../../../../scheduler/hub/serve/publish-channels.ts';
import { HOSTS, NOW, type TestHub } from '../test-hub.ts';

type Said = { readonly level: string; readonly what: string; readonly fields: object };

/** What keeps the releases of a hub current, at the time that a test says. */
export const keeperOf = async (hub: TestHub, registry?: string) => {
  const said: Said[] = [];
  const say =
    (level: string) =>
    (fields: object, what: string): void =>
      void said.push({ level, what, fields });
  let now = NOW;
  const configuration = {
    ...(await readConfiguration({ layout: hub.layout, keys: join(hub.path, 'keys') }, hub.path)),
    registry,
  };
  const clock = (): Date => now;
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as KeepOptions['log'];
  const publish = channelPublisher(configuration, clock, {});
  const keep = createKeepCurrent({ configuration, store: hub.store, clock, log, publish });
  return {
    said,
    at: async (days: number): Promise<readonly string[]> => {
      now = addDays(NOW, days);
      said.length = 0;
      await keep(new AbortController().signal);
      return said.map(({ what }) => what);
    },
  };
};

export const release = (hub: TestHub) =>
  hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'x' } } }],
    issuedAt: NOW,
  });
