import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { FleetCommand } from '#cli/fleet-command';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { type Submitted, submitCandidate } from '../../hub/promote/decide/submit-candidate.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { personOf } from '../person-flags.ts';
import { decisionFlags, linkFlags, openGate } from './open-gate.ts';
import { reasonFlag } from '../person-flags.ts';

export default class Submit extends FleetCommand {
  static override description = `Submits a candidate to the first environment of the chain.

\`serve\` and \`build\` then build the environment from it in place of the newest state, until another candidate is submitted or
--newest ends that. The candidate is stored in the layout, and the decision is signed into the audit log. Later environments get
it by \`promote\`.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> dev --candidate sha256:... --reason "tag 1.4"',
    '<%= config.bin %> <%= command.id %> dev --candidate candidate.json --reason "build 4711"',
    '<%= config.bin %> <%= command.id %> dev --newest --reason "the release train has left"',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that nothing is promoted to' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    candidate: Flags.string({
      description: 'Digest of a candidate in the layout, or a file with the document',
      exclusive: ['newest'],
    }),
    newest: Flags.boolean({ description: 'Build the environment from the newest state again' }),
    reason: reasonFlag,
  };

  async run(): Promise<Submitted> {
    const { args, flags } = await this.parse(Submit);
    const { candidate: named, newest, reason } = flags;
    if (named === undefined && !newest)
      throw new FleetError('USAGE', 'there is nothing to submit', {
        hint: 'Give --candidate with a digest or a file, or --newest to end an earlier submission',
      });
    const now = this.readNow(flags.now);
    const { signal } = this;
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), signal);
    const { blobs } = await openLayout(gate.hub.layout);
    const candidate = named === undefined ? null : (await readCandidate(named, [blobs], signal)).document;
    const request = { environment: args.environment, person: personOf(flags), reason, now, signal };
    const submitted = await submitCandidate(gate, { ...request, candidate });
    this.log(describeSubmitted(submitted));
    return submitted;
  }
}

/** 'dev: candidate sha256:4f0c... is submitted', or why nothing was written. */
const describeSubmitted = ({ environment, candidate, outcome }: Submitted): string => {
  const done = outcome === 'submitted';
  if (candidate === null)
    return `${environment}: it is built from the newest state${done ? ' again' : ' already; nothing was written'}`;
  return `${environment}: candidate ${shortDigest(candidate)} ${done ? 'is submitted' : 'was submitted last; nothing was written'}`;
};
