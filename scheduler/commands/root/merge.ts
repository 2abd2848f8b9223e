import { Args, Flags } from '@oclif/core';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { FleetCommand } from '#cli/fleet-command';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { draftJson } from '../../keys/root/draft-lines.ts';
import { judgeDraft, signatureLines } from '../../keys/root/judge-draft.ts';
import { mergeDrafts } from '../../keys/root/merge-drafts.ts';
import { readRootBefore, readRootBytes } from '../../keys/root/read-root-file.ts';
import { whatNext } from '../../keys/root/what-next.ts';

export default class RootMerge extends FleetCommand {
  static override description =
    'Merge copies of one draft that several officers signed separately.\n\nAll signatures are written to the first file. Copies with different content are refused. One person does this: merging the same signatures elsewhere can give a file with another SHA-256.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 1.root.json from-ben/1.root.json from-cleo/1.root.json',
  ];
  static override args = {
    root: Args.string({ required: true, description: 'The draft that gets the signatures' }),
    copy: Args.string({ required: true, multiple: true, description: 'Signed copies of it' }),
  };
  static override flags = {
    before: Flags.string({
      description: 'The previous root [default: <version>.root.json in the same folder]',
    }),
    out: Flags.string({ description: 'Write the merged root to this file [default: in place]' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootMerge);
    const read = async (file: string) => ({ file, bytes: await readRootBytes(file) });
    const first = await read(args.root);
    const copies = await Promise.all(args.copy.map(read));
    const before = await readRootBefore(args.root, first.bytes, flags.before);
    const merged = mergeDrafts([first, ...copies], before);
    const draft = judgeDraft(merged, before);
    const out = flags.out ?? args.root;
    await writeFileAtomically(out, merged);
    if (draft.root.dev) this.say(DEV_ROOT_NOTICE);
    this.log(`${out}: root ${draft.root.version} with the signatures of ${copies.length + 1} files`);
    for (const line of [...signatureLines(draft), ...whatNext(draft, out)]) this.log(line);
    return { file: out, ...draftJson(draft) };
  }
}
