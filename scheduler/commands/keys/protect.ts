import { Args, Flags } from '@oclif/core';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { readKeyText, unlockPem } from '#bundles/trust/keys/open-key-file';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { protectKey } from '#bundles/trust/keys/protect-key';
import { processTerminal } from '#bundles/trust/keys/terminal';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { FleetCommand } from '#cli/fleet-command';
import { fingerprint, loadSigningKey } from '#bundles/trust/keys/key';
import { passwordFlag, passwordsOf } from '../../keys/places/key-flags.ts';
import { writeKeyFile } from '../../keys/places/write-key-file.ts';

export default class KeysProtect extends FleetCommand {
  static override description =
    'Encrypt a plain private key by a password, or change the password of an encrypted one.\n\nThe key stays the same, and so does its public half. A disk or stick may still hold the old file. Replace a key that was stored unencrypted for a long time.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> release.key',
    '<%= config.bin %> <%= command.id %> from-openssl.pem --out release.key',
  ];
  static override args = { key: Args.string({ required: true, description: 'File with the private key' }) };
  static override flags = {
    ...passwordFlag,
    'new-password-file': Flags.string({
      description: 'File with the new password, if the key already has one',
    }),
    out: Flags.string({ description: 'Write it to this file [default: in place]' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysProtect);
    const given = passwordsOf(flags);
    const before = await readKeyText(args.key, { what: 'private key' }, true);
    const pem = await unlockPem(before, given);
    const key = namingFile(args.key, () => loadSigningKey(pem)).public;
    const wanted = flags['new-password-file'];
    // The old password may come from --password-file, so the new one must be typed.
    const chosen =
      before.encrypted || wanted !== undefined
        ? passwordsFrom({ file: wanted, env: {}, terminal: processTerminal() })
        : given;
    const out = flags.out ?? args.key;
    const text = protectKey(pem, await chosen.choose(out), args.key);
    if (flags.out === undefined) await writeFileAtomically(out, Buffer.from(text), 0o600);
    else await writeKeyFile(out, text);
    this.log(`${out}: encrypted, fingerprint ${fingerprint(key)}`);
    return { private: out, encrypted: true, fingerprint: fingerprint(key) };
  }
}
