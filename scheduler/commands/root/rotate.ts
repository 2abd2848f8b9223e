import { existsSync } from 'node:fs';
import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { fingerprint } from '#bundles/trust/keys/key';
import { describeAuthority } from '../../keys/root/describe-root.ts';
import { draftJson, newDraftLines } from '../../keys/root/draft-lines.ts';
import { nameByFile } from '../../keys/root/officer-name.ts';
import { readAuthority } from '../../keys/root/read-authority.ts';
import { readRootFile } from '../../keys/root/read-root-file.ts';
import { parseExpiry } from '../../keys/root/root-expiry.ts';
import { isCounted, parseRole, type RootRole } from '../../keys/root/root-roles.ts';
import { type Rotation, rotateRoot } from '../../keys/root/rotate-root.ts';
import { writeDraft } from '../../keys/root/write-draft.ts';

const pairs = (description: string) => Flags.string({ ...repeatable, default: [], description });

export default class RootRotate extends FleetCommand {
  static override description =
    'Create the next root: a draft with the given changes.\n\nIt is valid when enough officers of both roots have signed it with "root sign". Roles are officer, bundle, release, lease, receipt and audit. A development root that gets a second officer becomes an officers\' root.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 1.root.json --add release=release-2.pub',
    '<%= config.bin %> <%= command.id %> 2.root.json --remove release=release-1.pub --expires 2028-11-20',
    '<%= config.bin %> <%= command.id %> 3.root.json --remove officer=3f2a91 --add officer=dora.pub',
  ];
  static override args = {
    root: Args.string({ required: true, description: 'The newest root, <version>.root.json' }),
  };
  static override flags = {
    add: pairs('<role>=<public key file>: add this key'),
    remove: pairs('<role>=<public key file or fingerprint>: remove this key'),
    threshold: pairs('<role>=<number>: number of keys that must sign'),
    authority: pairs("Authority certificate for agents and hub, in addition to the root's"),
    'remove-authority': pairs(
      'Certificate file or its SHA-256: certificates of this authority are no longer accepted',
    ),
    expires: Flags.string({ description: 'Expiry, such as 2028-11-20 or 540d [default: in two years]' }),
    out: Flags.string({ description: 'File for the draft [default: <version>.root.json]' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootRotate);
    const now = this.readNow(flags.now);
    const before = await readRootFile(args.root);
    const rotation: Rotation = {
      add: await Promise.all(
        flags.add.map(parsePair).map(async ([role, file]) => ({
          role,
          key: await readPublicFile(file),
          name: nameByFile(file),
        })),
      ),
      remove: await Promise.all(
        flags.remove.map(parsePair).map(async ([role, key]) => ({ role, key: await keyName(key) })),
      ),
      thresholds: Object.fromEntries(flags.threshold.map(parseThreshold)),
      expires: parseExpiry(flags.expires, now),
      addAuthorities: await Promise.all(flags.authority.map((file) => readAuthority(file, now))),
      removeAuthorities: await Promise.all(
        flags['remove-authority'].map(async (name) =>
          existsSync(name)
            ? describeAuthority(await readAuthority(name, new Date(0))).sha256
            : parseHex(name),
        ),
      ),
    };
    const draft = await writeDraft(rotateRoot(before, rotation), flags.out, before);
    if (draft.root.dev) this.say(DEV_ROOT_NOTICE);
    for (const line of newDraftLines(draft, now)) this.log(line);
    return { file: draft.file, ...draftJson(draft) };
  }
}

const parsePair = (text: string): readonly [RootRole, string] => {
  const [role = '', ...rest] = text.split('=');
  const value = rest.join('=');
  if (value !== '') return [parseRole(role), value];
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not <role>=<key>`, {
    hint: 'Like release=release-2.pub',
  });
};

const keyName = async (text: string): Promise<string> =>
  existsSync(text) ? fingerprint(await readPublicFile(text)) : parseHex(text);

/** Digits of a digest that are unique within a root in practice, and short enough to type. */
const HEX = /^[0-9a-f]{6,64}$/;

const parseHex = (text: string): string => {
  const hex = text.toLowerCase();
  if (HEX.test(hex)) return hex;
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is neither a file nor a fingerprint`, {
    hint: 'Give the file, or at least the first six digits that "root inspect" shows',
  });
};

const parseThreshold = (text: string): readonly [string, number] => {
  const [role, number] = parsePair(text);
  if (!isCounted(role)) {
    throw new FleetError('USAGE', `any one ${role} key is enough: this role has no threshold`);
  }
  if (/^[1-9]\d?$/.test(number)) return [role, Number(number)];
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not <role>=<number>`, {
    hint: 'Like officer=2',
  });
};
