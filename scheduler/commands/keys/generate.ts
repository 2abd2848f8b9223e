import { rm } from 'node:fs/promises';
import { Flags } from '@oclif/core';
import { protectKey } from '#bundles/trust/keys/protect-key';
import { FleetCommand } from '#cli/fleet-command';
import { fingerprint, generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { passwordFlag, passwordsOf } from '../../keys/places/key-flags.ts';
import { checkNew, writeKeyFile, writeNew } from '../../keys/places/write-key-file.ts';

export default class KeysGenerate extends FleetCommand {
  static override description =
    'Create a key pair: the private key encrypted by a password, in a file that cosign reads, too.\n\nNothing is sent anywhere. The public key goes to the officers who make the root; the private one stays with its owner. Keep a copy: a key on one stick is lost with the stick.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --out ada.key',
    '<%= config.bin %> <%= command.id %> --out release.key --plain',
  ];
  static override flags = {
    ...passwordFlag,
    out: Flags.string({ required: true, description: 'File for the private key' }),
    public: Flags.string({
      description: 'File for the public key [default: that of the private key, ending in .pub]',
    }),
    plain: Flags.boolean({
      description:
        'Without a password, for a service that starts unattended; only the owner may read the file',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(KeysGenerate);
    const publicFile = flags.public ?? `${flags.out.replace(/\.key$/, '')}.pub`;
    for (const file of [flags.out, publicFile]) checkNew(file);
    const pem = generatePrivateKey();
    const { public: key } = loadSigningKey(pem);
    const text = flags.plain ? pem : protectKey(pem, await passwordsOf(flags).choose(flags.out), flags.out);
    // First: a public key that was added to a root is of no use without its private key. "keys public" writes the other half again.
    await writeKeyFile(flags.out, text);
    await writeNew(publicFile, key.pem).catch(async (error: unknown) => {
      await rm(flags.out, { force: true });
      throw error;
    });
    this.log(`${flags.out}: private key, ${flags.plain ? 'NOT encrypted, mode 0600' : 'encrypted'}`);
    this.log(`${publicFile}: public key, fingerprint ${fingerprint(key)}`);
    return { private: flags.out, public: publicFile, encrypted: !flags.plain, fingerprint: fingerprint(key) };
  }
}
