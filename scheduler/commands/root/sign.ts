import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { processTerminal } from '#bundles/trust/keys/terminal';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { FleetCommand } from '#cli/fleet-command';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { fingerprint } from '#bundles/trust/keys/key';
import { signRoot } from '#bundles/trust/root/root';
import { keyFlags, passwordsOf } from '../../keys/places/key-flags.ts';
import { openGivenKey } from '../../keys/places/open-given-key.ts';
import { draftJson, draftLines } from '../../keys/root/draft-lines.ts';
import { checkSigner, type Draft, judgeDraft, signatureLines } from '../../keys/root/judge-draft.ts';
import { readRootBefore, readRootBytes } from '../../keys/root/read-root-file.ts';
import { checkDraftExpiry } from '../../keys/root/root-expiry.ts';
import { whatNext } from '../../keys/root/what-next.ts';

export default class RootSign extends FleetCommand {
  static override description =
    "Add one officer's signature to a root, after showing its content and its changes.\n\nThe file is passed on from officer to officer until enough have signed: of its own officers, and of those of the root before it. That one is looked for beside it, by its name.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> 1.root.json --key ada.key',
    '<%= config.bin %> <%= command.id %> 2.root.json --before 1.root.json --key token.yaml',
  ];
  static override args = { root: Args.string({ required: true, description: 'The root or draft to sign' }) };
  static override flags = {
    ...keyFlags,
    before: Flags.string({
      description: 'The previous root [default: <version>.root.json in the same folder]',
    }),
    yes: Flags.boolean({ char: 'y', description: 'Sign without asking' }),
    out: Flags.string({ description: 'Write the signed root to this file [default: in place]' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootSign);
    const now = this.readNow(flags.now);
    const bytes = await readRootBytes(args.root);
    const before = await readRootBefore(args.root, bytes, flags.before);
    const draft = namingFile(args.root, () => judgeDraft(bytes, before));
    checkDraftExpiry(draft.root, now);
    if (draft.root.dev) this.say(DEV_ROOT_NOTICE);
    for (const line of draftLines(draft, now)) this.say(line);
    if (draft.complete)
      this.say(
        `NOTE: root ${draft.root.version} is complete. One more signature makes another file with another SHA-256.`,
      );
    await this.#confirm(draft, flags.yes);
    const key = await openGivenKey(flags.key, {
      what: "officer's key",
      role: 'root',
      passwords: passwordsOf(flags),
    });
    checkSigner(draft, key.public);
    const signed = await signRoot(bytes, [key], before);
    const next = judgeDraft(signed, before);
    const out = flags.out ?? args.root;
    await writeFileAtomically(out, signed);
    this.log(`${out}: root ${next.root.version} signed by ${fingerprint(key.public)}`);
    for (const line of signatureLines(next)) this.log(line);
    for (const line of whatNext(next, out)) this.log(line);
    return { file: out, signer: fingerprint(key.public), ...draftJson(next) };
  }

  async #confirm({ root }: Draft, yes: boolean): Promise<void> {
    if (yes) return;
    const terminal = this.jsonEnabled() ? undefined : processTerminal();
    if (!terminal) {
      throw new FleetError('USAGE', 'there is no terminal to confirm the signature', {
        hint: 'Run it on a terminal; or read it with "root inspect", and give --yes',
      });
    }
    const answer = await terminal.ask(
      `Sign root ${root.version} of fleet ${root.fleet} as shown? Type yes: `,
    );
    if (answer.trim().toLowerCase() === 'yes') return;
    throw new FleetError('ABORTED', 'nothing was signed');
  }
}
