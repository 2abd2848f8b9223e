import { FleetError, type Place } from '#bundles/errors';
import type { Application } from '../../../load/applications/application.ts';
import type { HostFileObject } from '../host-package-object.ts';

/** Returns the pinned name of an image as a quadlet writes it. */
export type PinQuadlet = (image: string, at: Place) => string;

type QuadletFile = Pick<HostFileObject, 'path' | 'source' | 'at'>;

/** A container quadlet or one of its drop-ins (podman-systemd.unit(5)). */
const QUADLET = /^\/etc\/containers\/systemd\/(?:.+\/)?[^/]+\.container(?:\.d\/[^/]+\.conf)?$/;

/** Values of `Image=` for which Podman asks no registry by that name: another transport, an image of the host, another quadlet. */
const NOT_CARRIED =
  /^$|^docker:\/\/|^(?:containers-storage|dir|docker-archive|docker-daemon|oci|oci-archive|ostree|sif):|^localhost\/|\.(?:image|build)$|%/;

/**
 * Writes the pinned name into each `Image=` of a quadlet. Other files, and values that Podman does not look up in a registry, stay as
 * they are. @throws FleetError of `pin`
 */
export const pinQuadlet = (
  file: QuadletFile,
  application: Pick<Application, 'shown'>,
  bytes: Buffer,
  pin: PinQuadlet,
): Buffer => {
  if (!QUADLET.test(file.path)) return bytes;
  const lines = linesOf(bytes);
  const isImage = ({ key, value }: Line): boolean => key === 'Image' && !NOT_CARRIED.test(value);
  if (!lines.some(isImage)) return bytes;
  const pinned = lines.map((line) =>
    isImage(line) ? `Image=${pin(line.value, placeOf(file, application, line.number))}` : line.text,
  );
  return Buffer.from(pinned.join('\n'));
};

/** Refuses `Pull=always` on a host that lives offline. @throws FleetError PULL_POLICY */
export const refusePulls = (
  file: QuadletFile,
  application: Pick<Application, 'shown'>,
  bytes: Buffer,
): void => {
  if (!QUADLET.test(file.path)) return;
  const pull = linesOf(bytes).find(({ key, value }) => key === 'Pull' && value === 'always');
  if (!pull) return;
  throw new FleetError(
    'PULL_POLICY',
    `${file.path} pulls its image at every start, but the sites of this cluster type have no network`,
    { at: placeOf(file, application, pull.number), hint: 'Remove Pull=always' },
  );
};

type Line = {
  /** As written, with the lines that continue it. */
  readonly text: string;
  /** Key of an assignment in [Container]; '' for any other line. */
  readonly key: string;
  /** A backslash at the end of a line means a space (systemd.syntax(7)). */
  readonly value: string;
  /** From 1. */
  readonly number: number;
};

const linesOf = (bytes: Buffer): readonly Line[] => {
  let section = '';
  let number = 1;
  return joinContinued(bytes.toString('utf8').split('\n')).map((parts) => {
    const text = parts.join('\n');
    const line = parts
      .filter((part) => !isComment(part))
      .map((part) => part.trim().replace(/\\$/, ''))
      .join(' ')
      .trim();
    section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
    const [, key = '', value = ''] = (section === 'Container' && /^(\w+)\s*=\s*(.*)$/.exec(line)) || [];
    const at = number;
    number += parts.length;
    return { text, key, value, number: at };
  });
};

const isComment = (line: string): boolean => /^\s*[#;]/.test(line);

/** Groups each line with those that continue it. Comments between them do not end it. */
const joinContinued = (lines: readonly string[]): readonly (readonly string[])[] => {
  const groups: string[][] = [];
  let open: string[] | undefined;
  for (const line of lines) {
    if (open) open.push(line);
    else groups.push((open = [line]));
    if (isComment(line) ? open.length === 1 : !line.trim().endsWith('\\')) open = undefined;
  }
  return groups;
};

/** The line of a file of the application; the object that holds the content otherwise. */
const placeOf = ({ source, at }: QuadletFile, { shown }: Pick<Application, 'shown'>, line: number): Place =>
  source === undefined ? at : { file: `${shown}${source}`, line, column: 1 };
