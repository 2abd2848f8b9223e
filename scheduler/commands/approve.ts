import { open } from 'node:fs/promises';
import { Args, Flags } from '@oclif/core';
import { FleetError, formatError, toFleetError } from '#bundles/errors';
import type { Passwords } from '#bundles/trust/keys/passwords';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { type Approval, approve } from '../release/approvals/approve.ts';
import { describeWaiting } from '../release/approvals/waiting.ts';
import { waitingLines } from '../release/approvals/waiting-lines.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags } from '../settings/configuration-flags.ts';
import { KEY_FORMS, passwordFlag, passwordsOf } from '../keys/places/key-flags.ts';
import { openGivenKey } from '../keys/places/open-given-key.ts';
import { followWithLeases } from '../release/lease/follow-with-leases.ts';
import { openReleases } from '../release/publish/open-releases.ts';
import { openKeyDirectory } from '../keys/key-directory.ts';

const { config, keys, layout } = configurationFlags;

/** What waits may be locked by a build. */
const LOCK_WAIT_MS = 15_000;

export default class Approve extends FleetCommand {
  static override summary = 'Add the second signature to a bundle that waits, and release it';
  static override description =
    `The signature is a file that cosign wrote (see approvals export), or is made here with the approver's own key, which may be a cosign key file.

With enough signatures the release is signed with the next number; until then it keeps waiting. A key that has signed cannot approve.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod/factory-host --bundle b.sigstore.json',
    '<%= config.bin %> <%= command.id %> prod/factory-host --key approver.key',
  ];
  static override args = {
    channel: Args.string({ required: true, description: 'environment/cluster type' }),
  };
  static override flags = {
    config,
    keys,
    layout,
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
    const channel = parseChannel(args.channel);
    const now = this.readNow(flags.now);
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
        const told = await describeWaiting(opened, directory.roots, directory.root, waiting);
        for (const line of waitingLines(told)) this.say(line);
        return sign(waiting);
      },
    });
    const name = formatChannel(channel);
    if (outcome === 'released') {
      this.log(`${name}: release ${version} released, bundle ${awaiting.bundle}`);
      for (const [, error] of await followWithLeases(releases, directory, [channel], now))
        this.say(`its lease is void now: ${formatError(error)}`);
    } else {
      const { threshold } = directory.root.roles.bundle;
      this.log(`${name}: approved by ${awaiting.files.length} of ${threshold} bundle signers; it waits on`);
    }
    return { channel: name, outcome, version, bundle: awaiting.bundle, signatures: awaiting.files.length };
  }
}

type SignatureFlags = { readonly bundle?: string | undefined; readonly key?: string | undefined };

/** @throws FleetError USAGE for neither */
const signatureFrom = ({ bundle, key }: SignatureFlags, passwords: Passwords): Approval['sign'] => {
  if (bundle !== undefined) return () => readSignature(bundle);
  if (key === undefined) {
    throw new FleetError('USAGE', 'an approval is a signature, and there is none', {
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
