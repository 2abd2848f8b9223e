import { writeFile } from 'node:fs/promises';
import { Args, Flags } from '@oclif/core';
import { FleetError, toFleetError } from '#bundles/errors';
import { type Hosts, parseHosts } from '#bundles/formats/medium/hosts';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../../hub/http/audit-log.ts';
import { hasNoSites, openHub } from '../../hub/open-hub.ts';
import { checkReleased, readReleased } from '../../hub/sites/check-released.ts';
import { readCsvFile } from '../../hub/sites/csv.ts';
import { createToken } from '../../hub/sites/tokens/create-token.ts';
import { channelsOf, readHostsCsv } from '../../hub/sites/tokens/read-hosts-csv.ts';
import { parseLife } from '../../hub/sites/tokens/token-life.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';

export default class TokensHosts extends FleetCommand {
  static override description =
    'Create a one-time token for each host of a CSV, and write them into one file for a medium.\n\nEach host uses the line that matches its facts with "fleet-agent enroll --hosts", and is enrolled at the hub or by a request on the stick, without a fingerprint that people compare. A machine that has the file can enrol as any of its hosts until the tokens are used or end, so keep it as you keep passwords.\n\nThe columns are site, name, channel, match (facts like serial=PX-4711) and label.<name>.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> hosts.csv --out /media/stick/hosts.json',
    '<%= config.bin %> <%= command.id %> hosts.csv --out /media/stick/hosts.json --expires 90d',
  ];
  static override args = {
    csv: Args.string({ required: true, description: 'File with a line for each host' }),
  };
  static override flags = {
    ...hubFlags,
    ...personFlags,
    out: Flags.string({ required: true, description: 'File to write; it must not exist' }),
    expires: Flags.string({ default: '30d', description: 'Validity, such as 2h or 30d' }),
    'allow-unreleased': Flags.boolean({ description: 'Also hosts of channels without a release' }),
    note: Flags.string({ description: 'Holder of the tokens, for the list' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(TokensHosts);
    const now = this.readNow(flags.now);
    const expires = new Date(now.getTime() + parseLife(flags.expires));
    const hosts = readHostsCsv(await readCsvFile(args.csv), args.csv);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration, {
      create: await hasNoSites(configuration),
      by: personAndReason(flags),
    });
    if (!flags['allow-unreleased']) {
      const released = await readReleased(hub.layout);
      for (const channel of channelsOf(hosts)) checkReleased(channel, released);
    }
    // Before the first token is created, because tokens that are not in the file are lost.
    await claim(flags.out);
    const lines: Hosts['hosts'][number][] = [];
    for (const { site, agent, channel, match, labels } of hosts) {
      const order = { scope: 'enroll', site, agent, channel, labels, replaceKey: false } as const;
      const { token, row } = await createToken(hub.store, order, { note: flags.note, expires, now });
      auditLog(process.stderr)?.info(
        { token: row.id, site, agent, expiresAt: row.expires_at },
        'token created',
      );
      lines.push({ site, agent, channel, match, token });
    }
    const document: Hosts = { fleet: hub.keys.root.fleet, hosts: lines };
    const bytes = Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
    parseHosts(bytes, flags.out);
    await writeFile(flags.out, bytes).catch((error: unknown) => {
      throw toFleetError(error, `writing ${flags.out}`);
    });
    for (const line of await appendToLog(hub, 'tokens hosts', now)) this.say(line);
    this.log(`${lines.length} tokens are in ${flags.out}, valid until ${expires.toISOString()}.`);
    this.log(
      `On each host: fleet-agent enroll --hosts ${flags.out} --root-sha256 ${hub.keys.root.digest.slice('sha256:'.length)} <medium, or --hub <address>>`,
    );
    return {
      out: flags.out,
      expiresAt: expires.toISOString(),
      hosts: lines.map(({ token: _, ...line }) => line),
    };
  }
}

/** @throws FleetError USAGE if the file exists: its tokens may not have been used yet */
const claim = async (file: string): Promise<void> => {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toFleetError(error, `writing ${file}`);
    throw new FleetError('USAGE', `${file} exists`, {
      hint: 'Its tokens may still be needed. Give another --out, or remove the file and revoke its tokens',
    });
  }
};
