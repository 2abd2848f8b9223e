import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { shaLine } from '../../keys/root/describe-root.ts';
import { draftJson } from '../../keys/root/draft-lines.ts';
import { signatureLines } from '../../keys/root/judge-draft.ts';
import { readRootBytes } from '../../keys/root/read-root-file.ts';
import { verifyRoots } from '../../keys/root/verify-roots.ts';

export default class RootVerify extends FleetCommand {
  static override description =
    'Verify a chain of roots as agents do: every signature, no missing root, the last one not expired.\n\nMissing signatures are listed by officer. Compare the SHA-256 of the first root with the one that the officers published.';
  static override examples = ['<%= config.bin %> <%= command.id %> 1.root.json 2.root.json 3.root.json'];
  static override args = {
    root: Args.string({ required: true, multiple: true, description: 'Files, in any order' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootVerify);
    const files = await Promise.all(
      args.root.map(async (file) => ({ file, bytes: await readRootBytes(file) })),
    );
    const { drafts, refusal } = verifyRoots(files, this.readNow(flags.now));
    if (drafts.at(-1)?.root.dev) this.say(DEV_ROOT_NOTICE);
    for (const draft of drafts) {
      this.log(`${shaLine(draft.root)}${draft.complete ? '' : '  NOT COMPLETE'}`);
      for (const line of signatureLines(draft)) this.log(`  ${line}`);
    }
    if (refusal) throw refusal;
    const last = drafts.at(-1)?.root;
    this.log(`verified up to root ${last?.version} of fleet ${last?.fleet}`);
    return { roots: drafts.map(draftJson) };
  }
}
