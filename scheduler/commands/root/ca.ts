import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { keyFlags, passwordsOf } from '../../keys/places/key-flags.ts';
import { openGivenKey } from '../../keys/places/open-given-key.ts';
import { writeNew } from '../../keys/places/write-key-file.ts';
import { describeAuthority } from '../../keys/root/describe-root.ts';
import { issueAuthority } from '../../keys/root/issue-authority.ts';

export default class RootCa extends FleetCommand {
  static override description =
    "Create the certificate of the authority that issues certificates for agents and the hub.\n\nThe hub uses its key all the time, so it must not be an officer's key.";
  static override examples = ['<%= config.bin %> <%= command.id %> --fleet acme --key ca.key --out ca.pem'];
  static override flags = {
    ...keyFlags,
    fleet: Flags.string({ required: true, description: 'Name of the fleet' }),
    out: Flags.string({ required: true, description: 'File for the certificate' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootCa);
    const what = "key of the agents' authority";
    const key = await openGivenKey(flags.key, { what, role: 'authority', passwords: passwordsOf(flags) });
    const pem = await issueAuthority(parseName(flags.fleet, 'fleet'), key, this.readNow(flags.now));
    await writeNew(flags.out, pem);
    const { sha256, ends } = describeAuthority(pem);
    this.log(`${flags.out}: authority of agents, certificate SHA-256 ${sha256}, until ${ends}`);
    return { certificate: flags.out, sha256, ends };
  }
}
