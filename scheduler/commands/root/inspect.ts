import { Args, Flags } from '@oclif/core';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { FleetCommand } from '#cli/fleet-command';
import { formatTime } from '#bundles/time';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { describeRoot, rootLines, shaLine } from '../../keys/root/describe-root.ts';
import { draftJson, draftLines } from '../../keys/root/draft-lines.ts';
import { judgeDraft } from '../../keys/root/judge-draft.ts';
import { readRootBefore, readRootBytes } from '../../keys/root/read-root-file.ts';
import { rootNotes } from '../../keys/root/root-notes.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';

const { config, keys } = configurationFlags;

export default class RootInspect extends FleetCommand {
  static override description =
    'Show the roots of a fleet: SHA-256, expiry, and the keys of each role.\n\nFor a file, a draft included, the command also shows the changes from the previous root and the signatures.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --keys ./keys',
    '<%= config.bin %> <%= command.id %> 2.root.json',
  ];
  static override args = {
    root: Args.string({ description: 'A root or draft, instead of a key directory' }),
  };
  static override flags = {
    config,
    keys,
    before: Flags.string({
      description: 'The previous root [default: the file of that version in the same folder]',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootInspect);
    const now = this.readNow(flags.now);
    if (args.root !== undefined) return await this.#file(args.root, flags.before, now);
    const directory = requireSetting(await readConfiguration(flags, process.cwd()), 'keys');
    const { roots, root } = await openKeyDirectory(directory);
    if (root.dev) this.say(DEV_ROOT_NOTICE);
    const [head = '', ...lines] = rootLines(root, now);
    for (const line of [head, ...roots.map(shaLine), ...lines]) this.log(line);
    for (const note of rootNotes(root, roots.at(-2))) this.say(`NOTE: ${note}`);
    return {
      fleet: root.fleet,
      dev: root.dev,
      version: root.version,
      expires: formatTime(root.expires),
      roots: roots.map(({ version, digest }) => ({ version, digest })),
      ...describeRoot(root),
    };
  }

  async #file(file: string, named: string | undefined, now: Date): Promise<unknown> {
    const bytes = await readRootBytes(file);
    const before = await readRootBefore(file, bytes, named);
    const draft = namingFile(file, () => judgeDraft(bytes, before));
    if (draft.root.dev) this.say(DEV_ROOT_NOTICE);
    this.log(`${shaLine(draft.root)}${draft.complete ? '' : '  NOT COMPLETE'}`);
    for (const line of draftLines(draft, now)) this.log(line);
    return { ...draftJson(draft), expires: formatTime(draft.root.expires), ...describeRoot(draft.root) };
  }
}
