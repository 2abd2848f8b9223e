import { Args, Flags } from '@oclif/core';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { readKeyText } from '#bundles/trust/keys/open-key-file';
import { FleetCommand } from '#cli/fleet-command';
import { fingerprint, parsePublicKey } from '#bundles/trust/keys/key';
import { passwordFlag, passwordsOf } from '../../keys/places/key-flags.ts';
import { openGivenKey } from '../../keys/places/open-given-key.ts';
import { writeNew } from '../../keys/places/write-key-file.ts';

export default class KeysPublic extends FleetCommand {
  static override description =
    'Show the public key of a key, and its fingerprint: the SHA-256 that people compare.\n\nThe key goes to standard output, the fingerprint to standard error.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ada.key',
    '<%= config.bin %> <%= command.id %> ben.pub',
  ];
  static override args = {
    key: Args.string({
      required: true,
      description: 'A private key, a .yaml that refers to one, or a public key',
    }),
  };
  static override flags = {
    ...passwordFlag,
    out: Flags.string({ description: 'Write the public key to this file' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysPublic);
    const key = await this.#read(args.key, flags);
    if (flags.out === undefined) this.logText(key.pem.trimEnd());
    else await writeNew(flags.out, key.pem);
    this.say(`fingerprint ${fingerprint(key)}`);
    return { public: key.pem, fingerprint: fingerprint(key), hint: key.hint };
  }

  async #read(file: string, flags: { readonly 'password-file'?: string | undefined }) {
    const what = 'key';
    if (!/\.ya?ml$/.test(file)) {
      const { text } = await readKeyText(file, { what }, true);
      if (text.startsWith('-----BEGIN PUBLIC KEY-----')) return namingFile(file, () => parsePublicKey(text));
    }
    return (await openGivenKey(file, { what, role: 'root', passwords: passwordsOf(flags) })).public;
  }
}
