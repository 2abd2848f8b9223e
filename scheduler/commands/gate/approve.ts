import { open } from 'node:fs/promises';
import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError, toFleetError } from '#bundles/errors';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { nameSome } from '#bundles/name-some';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import type { Passwords } from '#bundles/trust/keys/passwords';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { approveFor } from '../../hub/promote/decide/approve-for.ts';
import { LOCK_WAIT_MS } from '../../hub/promote/decide/chain.ts';
import { linkTo } from '../../hub/promote/facts/link.ts';
import { assess, parseCandidate } from '../../hub/promote/gate/assess.ts';
import { describeVerdict } from '../../hub/promote/gate/describe-verdict.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { KEY_FORMS, passwordFlag, passwordsOf } from '../../keys/places/key-flags.ts';
import { openGivenKey } from '../../keys/places/open-given-key.ts';
import { type Approval, approve } from '../../release/approvals/approve.ts';
import { describeWaiting } from '../../release/approvals/waiting.ts';
import { waitingLines } from '../../release/approvals/waiting-lines.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { personOf } from '../person-flags.ts';
import { decisionFlags, gateFlags, openGate } from './open-gate.ts';

export default class Approve extends FleetCommand {
  static override summary = 'Approve a waiting bundle, or a promotion';
  static override description =
    `The signature is a file that cosign wrote (see approvals export), or is made here with the approver's own key, which may be a cosign key file.

With enough signatures the release is signed with the next number; until then it keeps waiting. A key that has signed cannot approve.

With --to it approves the promotion of a candidate, or with --stage a stage of the rollout of the environment: signed with the approver's own key and appended to the audit log. It promotes nothing; the gate counts it.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod/factory-host --bundle b.sigstore.json',
    '<%= config.bin %> <%= command.id %> prod/factory-host --key approver.key',
    '<%= config.bin %> <%= command.id %> --to prod --key ann.key --person ann --reason "load test passed"',
    '<%= config.bin %> <%= command.id %> --to prod --workspace production --key bob.key --person bob',
  ];
  static override args = {
    channel: Args.string({ description: 'environment/cluster type of a bundle that waits' }),
  };
  static override flags = {
    ...gateFlags,
    ...decisionFlags,
    to: Flags.string({ description: 'Approve the promotion to this environment instead of a bundle' }),
    stage: Flags.string({ description: 'Only this stage of its rollout', dependsOn: ['to'] }),
    workspace: Flags.string({
      description: 'With --to: approve only what changes in this workspace; repeatable',
      ...repeatable,
    }),
    bundle: Flags.string({ description: 'Signature file that cosign attest-blob wrote', exclusive: ['key'] }),
    key: Flags.string({ description: KEY_FORMS }),
    'password-file': {
      ...passwordFlag['password-file'],
      relationships: [{ type: 'all' as const, flags: ['key'] }],
    },
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Approve);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    if (flags.to !== undefined) return this.approvePromotion(configuration, flags.to);
    if (flags.workspace)
      throw new FleetError('USAGE', 'only promotions are approved for workspaces', {
        hint: 'Give --to with an environment of the chain',
      });
    if (args.channel === undefined)
      throw new FleetError('USAGE', 'there is nothing to approve', {
        hint: 'Give a channel whose bundle waits, or --to with an environment of the chain',
      });
    const channel = parseChannel(args.channel);
    const sign = signatureFrom(flags, passwordsOf(flags));
    const directory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    using releases = await openReleases(requireSetting(configuration, 'layout'), {
      command: 'approve',
      now,
      waitMs: LOCK_WAIT_MS,
    });
    const { outcome, version, awaiting } = await approve(releases, directory, {
      channel,
      now,
      sign: async (waiting) => {
        const opened = await releases.open();
        const described = await describeWaiting(opened, directory.roots, directory.root, waiting);
        for (const line of waitingLines(described)) this.say(line);
        return sign(waiting);
      },
    });
    const name = formatChannel(channel);
    if (outcome === 'released') {
      this.log(`${name}: release ${version} released, bundle ${awaiting.bundle}`);
      for (const [, error] of await followWithLeases(releases, directory, [channel], now))
        this.say(`its lease is now void: ${formatError(error)}`);
    } else if (outcome === 'restated') {
      this.log(`${name}: release ${version} stays: it has this bundle, and its new statement is approved`);
    } else {
      const { threshold } = directory.root.roles.bundle;
      this.log(`${name}: approved by ${awaiting.files.length} of ${threshold} bundle signers; it waits on`);
    }
    return { channel: name, outcome, version, bundle: awaiting.bundle, signatures: awaiting.files.length };
  }

  /** Signs with the approver's own key, and appends to the audit log. */
  private async approvePromotion(configuration: Configuration, to: string): Promise<unknown> {
    const { args, flags } = await this.parse(Approve);
    if (args.channel !== undefined || flags.bundle !== undefined || flags.key === undefined) {
      throw new FleetError(
        'USAGE',
        'a promotion is approved with --to and --key, without a channel or --bundle',
        {
          hint: `Write: fleet-scheduler approve --to ${to} --key <the approver's key>`,
        },
      );
    }
    const now = this.readNow(flags.now);
    await using gate = await openGate(configuration, this.signal);
    const key = await openGivenKey(flags.key, {
      what: "approver's key",
      role: 'bundle',
      passwords: passwordsOf(flags),
    });
    const request = {
      environment: to,
      candidate: parseCandidate(flags.candidate),
      stage: flags.stage === undefined ? undefined : parseName(flags.stage, 'stage'),
      workspaces: flags.workspace?.map((name) => parseName(name, 'workspace')),
      person: personOf(flags),
      reason: flags.reason ?? '',
      now,
      signal: this.signal,
    };
    const { outcome, ...approved } = await approveFor(gate, request, key);
    const { candidate, person } = approved;
    const { stage, workspace = [] } = flags;
    const limit = workspace.length === 0 ? '' : ` for ${nameSome(workspace)}`;
    const what = stage === undefined ? limit : ` for stage ${stage}`;
    this.log(`${to}: candidate ${shortDigest(candidate)} is approved${what} by ${person}`);
    if (flags.stage === undefined) {
      const question = { now, signal: this.signal, candidate, asks: null };
      const { verdict } = await assess(gate.hub, linkTo(gate.promotion, to), question);
      for (const line of describeVerdict(verdict, candidate)) this.say(line);
    }
    return { outcome, ...approved };
  }
}

type SignatureFlags = { readonly bundle?: string | undefined; readonly key?: string | undefined };

/** @throws FleetError USAGE for neither */
const signatureFrom = ({ bundle, key }: SignatureFlags, passwords: Passwords): Approval['sign'] => {
  if (bundle !== undefined) return () => readSignature(bundle);
  if (key === undefined) {
    throw new FleetError('USAGE', 'an approval needs a signature', {
      hint: 'Give --bundle with the file that cosign wrote, or --key to sign here',
    });
  }
  return async ({ payload }) =>
    signPayload(payload, await openGivenKey(key, { what: "approver's key", role: 'bundle', passwords }));
};

const readSignature = async (file: string): Promise<Buffer> => {
  try {
    await using handle = await open(file, 'r');
    // One byte more than is read: the envelope's own parser says that it is too large.
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_STATEMENT_BYTES + 1));
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FleetError('USAGE', 'there is no such signature file', { at: { file }, cause: error });
    throw toFleetError(error, `reading ${file}`);
  }
};
