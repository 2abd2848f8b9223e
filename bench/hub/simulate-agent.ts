import type { Digest } from '../../bundles/digest.ts';
import { encodeEvent, type Event, GENESIS, hashLine } from '../../bundles/formats/events/event.ts';
import { formatTime } from '../../bundles/time.ts';
import type { SigningKey } from '../../bundles/trust/keys/key.ts';
import { signReport, type SignedReport } from '../../bundles/trust/reports/report.ts';

/** What happened, and when. */
export type Happening = Partial<Event> & { readonly time: Date };

/** Signs reports of what happens to an agent, each continuing its chain. */
export type SimulatedAgent = {
  readonly id: string;
  readonly report: (happenings: readonly Happening[], now: Date) => Promise<SignedReport>;
};

export const simulateAgent = (id: string, fleet: string, key: SigningKey): SimulatedAgent => {
  let [seq, prev]: [number, Digest] = [0, GENESIS];
  return {
    id,
    report: async (happenings, now) => {
      const [from, firstPrev] = [seq + 1, prev];
      const lines = happenings.map(({ time, ...happening }) => {
        seq += 1;
        const at = formatTime(time);
        const event = { agent: id, seq, prev, bootId: 'b', at, monotonicMs: seq, type: 'package' };
        const line = encodeEvent({ ...event, ...happening });
        prev = hashLine(line);
        return `${line}\n`;
      });
      return await signReport(
        Buffer.from(lines.join('')),
        {
          fleet,
          agent: id,
          from,
          to: seq,
          firstPrev,
          lastHash: prev,
          bootId: 'b',
          time: formatTime(now),
          clockTrusted: true,
          floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(new Date(0)) },
          holds: [],
        },
        key,
      );
    },
  };
};
