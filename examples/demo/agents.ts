import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { ENROLL_PATH } from '#bundles/formats/events/hub-api';
import { agentFolder, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import { addDays, formatTime } from '#bundles/time';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { signReport } from '#bundles/trust/reports/report';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import type { HubServer } from '../../scheduler/hub/http/hub-server.ts';

export const FLEET = 'halden';

export type Happening = Partial<Event> & { readonly type: string };

export type DemoAgent = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  /** Appends events to the site's chain and writes them as a signed report to a medium. @param at time of the events */
  readonly report: (medium: string, happenings: readonly Happening[], at: Date) => Promise<void>;
};

type Joining = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  readonly labels: Readonly<Record<string, string>>;
};

/** Enrols an agent with a key of its own by the hub's own route. @param token for enrolment at the site */
export const joinAgent = async (
  server: HubServer,
  { site, agent, channel, labels }: Joining,
  token: string,
  now: Date,
): Promise<DemoAgent> => {
  const key = loadSigningKey(generatePrivateKey());
  const request = await createCertificateRequest({ fleet: FLEET, site, agent }, key);
  const asked = { fleet: FLEET, site, agent, channel, labels, request, at: formatTime(now) };
  const answer = await server.inject({
    method: 'POST',
    url: ENROLL_PATH,
    payload: { token, request: asked },
  });
  if (answer.statusCode !== 200) throw new Error(`${site}/${agent}: ${answer.body}`);

  let seq = 0;
  let last: Digest = GENESIS;
  // A medium may be older than one that came before it; the floor of an agent never falls.
  let floor = addDays(now, -1);
  return {
    site,
    agent,
    channel,
    report: async (medium, happenings, at) => {
      const from = seq + 1;
      floor = new Date(Math.max(floor.getTime(), addDays(at, -1).getTime()));
      const firstPrev = last;
      const lines = happenings.map((happening) => {
        seq += 1;
        const common = { agent: `${site}/${agent}`, seq, prev: last, bootId: 'boot-1', at: formatTime(at) };
        const line = encodeEvent({ ...common, monotonicMs: seq * 1000, ...happening });
        last = hashLine(line);
        return line;
      });
      const { statement, events } = await signReport(
        Buffer.from(lines.map((line) => `${line}\n`).join('')),
        {
          fleet: FLEET,
          agent: `${site}/${agent}`,
          from,
          to: seq,
          firstPrev,
          lastHash: last,
          bootId: 'boot-1',
          time: formatTime(at),
          clockTrusted: true,
          floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(floor) },
          holds: [],
        },
        key,
      );
      const path = join(
        medium,
        REPORTS_FOLDER,
        agentFolder(`${site}/${agent}`),
        `${twelve(from)}-${twelve(seq)}`,
      );
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.ndjson`, events);
      await writeFile(`${path}.sigstore.json`, statement);
    },
  };
};

const twelve = (seq: number): string => String(seq).padStart(12, '0');
