import { Args, Flags } from '@oclif/core';
import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { parseCandidate } from '../../hub/promote/gate/assess.ts';
import { awaitArrival } from '../../hub/promote/gate/await-arrival.ts';
import type { Arrival } from '../../hub/promote/judge/judge-arrival.ts';
import { DURATION } from '../../model/duration.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { linkFlags, openGate } from '../gate/open-gate.ts';

const POLL_MS = 5000;

export default class Wait extends FleetCommand {
  static override description = `Waits until an environment complies with a candidate, for pipelines.

Exit code 0: it complies, as the policy of the next link counts, or every enrolled agent. 7: it cannot any more,
because the candidate was rejected or another one took its place. 8: not within --timeout.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> dev --timeout 30m',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --timeout 14d',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that must comply' }),
  };
  static override flags = {
    ...linkFlags,
    candidate: Flags.string({
      description:
        'Digest of a candidate [default: the newest that is promoted to, or released in, the environment]',
    }),
    timeout: Flags.string({
      default: '1h',
      description: 'How long to wait at most, like 90s, 30m, 12h or 14d',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Wait);
    if (!DURATION.test(flags.timeout))
      throw new FleetError('USAGE', `--timeout ${JSON.stringify(flags.timeout)} is not a duration`, {
        hint: 'Write it like 90s, 30m, 12h or 14d',
      });
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const { environment } = args;
    const arrival = await awaitArrival(gate.hub, gate.promotion, {
      environment,
      candidate: parseCandidate(flags.candidate),
      timeoutMs: durationMs(flags.timeout),
      pollMs: POLL_MS,
      clock: () => this.readNow(flags.now),
      signal: this.signal,
      onChange: ({ conditions }) => {
        this.#conditions = conditions;
        for (const { name, found, met } of conditions)
          if (!met) this.say(`${environment}: ${name}: ${found}`);
      },
    });
    this.log(`${environment} complies`);
    return { environment, ...arrival };
  }

  /** The last state, for --json. */
  #conditions: Arrival['conditions'] | undefined;

  protected override toErrorJson(error: unknown): unknown {
    const json = super.toErrorJson(error) as object;
    return this.#conditions ? { ...json, conditions: this.#conditions } : json;
  }
}
