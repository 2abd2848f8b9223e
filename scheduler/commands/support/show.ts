import { join } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import type { VerifiedSupport } from '#bundles/trust/reports/support';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { readSent, readStored } from '../../hub/support/read-support.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { parseSupportTarget } from './support-target.ts';

export default class SupportShow extends FleetCommand {
  static override description =
    'Show the newest support bundle of an agent: who made it, what doctor found there, and its files.\n\nThe signature is verified by the key that the agent was enrolled with, of a file that was sent as well. Text is shown without control characters.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7',
    '<%= config.bin %> <%= command.id %> plant-7/press-1 --file journal/agent.log',
    '<%= config.bin %> <%= command.id %> plant-7/press-1 --out ./press-1',
    '<%= config.bin %> <%= command.id %> ./press-1.tar',
  ];
  static override args = {
    target: Args.string({ required: true, description: 'Site, <site>/<agent>, or a file (.tar)' }),
  };
  static override flags = {
    ...hubFlags,
    file: Flags.string({ description: 'Print this file of the bundle', exclusive: ['out'] }),
    out: Flags.string({ description: 'Write the files of the bundle below this folder' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SupportShow);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const { db, fleet } = hub.store;
    const support = args.target.endsWith('.tar')
      ? await readSent(db, fleet, args.target)
      : await readStored(db, parseSupportTarget(args.target));
    if (flags.file !== undefined) this.logText(textOf(support, flags.file).trimEnd());
    else if (flags.out !== undefined) await this.#extract(support, flags.out);
    else this.logText(describeSupport(support));
    const files = support.files.map(({ path, bytes }) => ({ path, bytes: bytes.byteLength }));
    const said = { ...support.predicate, digest: support.digest, files };
    return flags.file === undefined ? said : { ...said, file: flags.file, text: textOf(support, flags.file) };
  }

  async #extract({ files }: VerifiedSupport, out: string): Promise<void> {
    try {
      await createDirectory(out);
      // No link below the folder is followed.
      for (const { path, bytes } of files) await writeFileOntoMedium(out, path, bytes);
    } catch (error) {
      throw toFleetError(error, `writing to ${out}`);
    }
    this.log(`Wrote ${files.length} files below ${out}`);
    for (const { path } of files) this.log(`  ${join(out, path)}`);
  }
}

const textOf = ({ files }: VerifiedSupport, path: string): string => {
  const found = files.find((file) => file.path === path);
  if (found) return found.bytes.toString('utf8');
  throw new FleetError(
    'REFERENCE_MISSING',
    `the support bundle has no file ${JSON.stringify(path.slice(0, 120))}`,
    {
      hint: `It has ${files.map((file) => file.path).join(', ')}`,
    },
  );
};

const describeSupport = ({ predicate, digest, files }: VerifiedSupport): string => {
  const { agent, time, clockTrusted, request, version } = predicate;
  return [
    `${agent}, agent ${version}, at ${time}${clockTrusted ? '' : ' by a clock that is not synchronised'}`,
    `signed by its key  ${shortDigest(digest)}  ${request === null ? 'created on the machine' : `answers request ${request}`}`,
    ...findingsIn(files),
    '',
    ...files.map(({ path, bytes }) => `${path}  ${bytes.byteLength} bytes`),
  ].join('\n');
};

/** The findings of doctor that are not good. The file is of another machine, so everything is checked. */
const findingsIn = (files: VerifiedSupport['files']): readonly string[] => {
  const text = files.find(({ path }) => path === 'doctor.json')?.bytes.toString('utf8') ?? '[]';
  let findings: unknown;
  try {
    findings = JSON.parse(text);
  } catch {
    return ['', 'doctor.json cannot be read'];
  }
  const bad = (Array.isArray(findings) ? findings : []).flatMap((one: unknown) => {
    const { name, verdict, message } = (one ?? {}) as { [field: string]: unknown };
    return verdict === 'bad' || verdict === 'warning'
      ? [`${verdict}  ${String(name)}: ${String(message)}`]
      : [];
  });
  return bad.length === 0 ? ['', 'doctor found nothing wrong'] : ['', ...bad];
};
