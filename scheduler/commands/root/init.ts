import { Flags } from '@oclif/core';
import { hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { formatTime } from '#bundles/time';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { draftJson, newDraftLines } from '../../keys/root/draft-lines.ts';
import { initDevRoot } from '../../keys/root/init-dev-root.ts';
import { officersByFile } from '../../keys/root/officer-name.ts';
import { readAuthority } from '../../keys/root/read-authority.ts';
import { readPublicKeys } from '../../keys/root/read-public-keys.ts';
import { parseExpiry } from '../../keys/root/root-expiry.ts';
import { checkInput } from '../../keys/root/root-input.ts';
import { DEFAULT_THRESHOLD } from '../../keys/root/rotate-root.ts';
import { writeDraft } from '../../keys/root/write-draft.ts';

const { config, keys } = configurationFlags;

const keysFlag = (description: string) => Flags.string({ ...repeatable, description });

export default class RootInit extends FleetCommand {
  static override summary =
    'Create the trust root of a new fleet: a draft that its officers sign, or a development root.';
  static override description =
    'The draft names the officers and the keys of every role by their public keys; it is valid when enough officers have signed it with "root sign". Do this on a machine without a network.\n\nWith --dev there is one officer, all keys are created unprotected in one directory, and all programs print a warning; --bundle adds the public keys of people who approve promotions.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --fleet acme --officer ada.pub --officer ben.pub --officer cleo.pub --bundle bundle.pub --release release.pub --lease lease.pub --receipt receipt.pub --audit audit.pub --authority ca.pem',
    '<%= config.bin %> <%= command.id %> --dev --fleet acme --keys ./keys',
    '<%= config.bin %> <%= command.id %> --dev --fleet acme --keys ./keys --bundle carla.pub',
  ];
  static override flags = {
    config,
    keys,
    fleet: Flags.string({ required: true, description: 'Name of the fleet' }),
    dev: Flags.boolean({ description: 'For development: one officer, all keys in one directory' }),
    officer: keysFlag(
      'Public key of an officer, whose name in the root is that of the file; three are usual',
    ),
    threshold: Flags.integer({ description: `How many officers must sign [default: ${DEFAULT_THRESHOLD}]` }),
    bundle: keysFlag('Public key that signs the origin of bundles'),
    'bundle-threshold': Flags.integer({
      description:
        'How many bundle keys must sign each bundle; 2 is the scheduler and an approver [default: 1]',
    }),
    release: keysFlag('Public key that signs releases'),
    lease: keysFlag('Public key that signs leases'),
    receipt: keysFlag("Public key of the hub's receipts"),
    audit: keysFlag('Public key of the audit log'),
    authority: keysFlag('Certificate of the authority for agents and the hub, from "root ca"'),
    expires: Flags.string({ description: 'Expiry, such as 2028-11-20 or 540d [default: in two years]' }),
    out: Flags.string({ description: 'File for the draft [default: 1.root.json]' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootInit);
    const fleet = parseName(flags.fleet, 'fleet');
    if (flags.dev) return await this.#development(fleet, flags);
    const now = this.readNow(flags.now);
    const missing = ROLE_FLAGS.filter((role) => flags[role] === undefined);
    if (missing.length > 0) {
      throw new FleetError('USAGE', `keys are missing: ${missing.map((role) => `--${role}`).join(', ')}`, {
        hint: 'Give a public key for each, of "keys generate"; or add --dev to try things out with a root of one officer, never for real machines',
      });
    }
    const read = (role: (typeof ROLE_FLAGS)[number]) =>
      readPublicKeys(role === 'officer' ? 'root' : role, flags[role] ?? []);
    const input = {
      fleet,
      version: 1,
      expires: parseExpiry(flags.expires, now),
      keys: {
        root: await read('officer'),
        bundle: await read('bundle'),
        release: await read('release'),
        lease: await read('lease'),
        receipt: await read('receipt'),
        audit: await read('audit'),
      },
      thresholds: {
        root: flags.threshold ?? DEFAULT_THRESHOLD,
        bundle: flags['bundle-threshold'] ?? 1,
        release: 1,
        lease: 1,
      },
      agentCertificates: await Promise.all((flags.authority ?? []).map((file) => readAuthority(file, now))),
      dev: false,
      officers: await officersByFile(flags.officer ?? []),
    };
    checkInput(input);
    const draft = await writeDraft(input, flags.out);
    for (const line of newDraftLines(draft, now)) this.log(line);
    return { file: draft.file, ...draftJson(draft) };
  }

  async #development(fleet: string, flags: DevelopmentFlags): Promise<unknown> {
    const unused = OF_A_DRAFT.filter((name) => flags[name] !== undefined);
    if (unused.length > 0) {
      const names = unused.map((name) => `--${name}`).join(', ');
      throw new FleetError('USAGE', `--dev creates the keys of a root itself, but ${names} is given`, {
        hint: `Leave ${names} out, or leave --dev out to draft a root that its officers sign`,
      });
    }
    const approvers = await readPublicKeys('bundle', flags.bundle ?? []);
    const directory = requireSetting(await readConfiguration(flags, process.cwd()), 'keys');
    const root = await initDevRoot(directory, fleet, this.readNow(flags.now), approvers);
    this.say(`${DEV_ROOT_NOTICE} All its keys lie unprotected in one directory.`);
    this.log(`root of fleet ${fleet} in ${directory}, valid until ${formatTime(root.expires)}`);
    this.log(`SHA-256 ${hexOf(root.digest)}`);
    this.log('Agents ask for this SHA-256 when they are enrolled.');
    return { fleet, directory, version: root.version, digest: root.digest, dev: true };
  }
}

/** Flags that say something about a draft alone. */
const OF_A_DRAFT = [
  'officer',
  'threshold',
  'bundle-threshold',
  'release',
  'lease',
  'receipt',
  'audit',
  'authority',
  'expires',
  'out',
] as const;

type DevelopmentFlags = {
  readonly [name in (typeof OF_A_DRAFT)[number]]?: unknown;
} & {
  readonly keys?: string | undefined;
  readonly now?: string | undefined;
  readonly bundle?: readonly string[] | undefined;
};

const ROLE_FLAGS = ['officer', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const;
