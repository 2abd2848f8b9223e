import { pino } from 'pino';
import { defined } from '#bundles/defined';
import { createServer } from '../../scheduler/hub/http/create-server.ts';
import type { HubServer } from '../../scheduler/hub/http/hub-server.ts';
import { createMetrics } from '../../scheduler/hub/http/metrics/metrics.ts';
import { notePresence } from '../../scheduler/hub/http/note-presence.ts';
import type { Hub } from '../../scheduler/hub/hub.ts';
import { siteSigner } from '../../scheduler/hub/sites/site-signer.ts';
import { readAhead } from '../../scheduler/hub/serve/read-ahead.ts';
import { NOW, PROMOTION } from './fleet-hub.ts';

/** All routes of a hub as it starts, at the time of the fleet. @param page the folder of the built page */
export const openServer = async (hub: Hub, page?: string): Promise<HubServer> => {
  await readAhead(hub);
  const clock = () => NOW;
  const log = pino({ level: 'silent' });
  return createServer(
    defined({
      context: {
        hub,
        authority: await hub.keys.authority(),
        signer: await siteSigner(hub),
        receiptKey: await hub.keys.key('receipt'),
        clock,
        metrics: createMetrics(hub.store.db, clock),
        presence: notePresence(hub.store, clock, log),
        onSiteChange: () => {},
        onReport: () => {},
      },
      log,
      page,
      decisions: {
        readKeys: async () => hub.keys,
        readPromotion: async () => PROMOTION,
        wake: () => {},
        signal: new AbortController().signal,
      },
    }),
  );
};

/** Asks once. Each question comes from another address, because the rate limit is for one. @returns ms */
export const ask = async (server: HubServer, url: string, token: string): Promise<number> => {
  asked += 1;
  const remoteAddress = `10.0.${Math.floor(asked / 250)}.${asked % 250}`;
  const start = performance.now();
  const answer = await server.inject({ url, remoteAddress, headers: { authorization: `Bearer ${token}` } });
  const took = performance.now() - start;
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${answer.body.slice(0, 500)}`);
  return took;
};
let asked = 0;
