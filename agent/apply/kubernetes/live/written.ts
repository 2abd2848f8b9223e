import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { parseExactJson } from '#bundles/json/exact-json';
import { isRecord } from '#bundles/is-record';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { isReported } from './deploy-tools.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, pathsOf, subtract, unite } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** Limit of the stored form of one object, in characters. Beyond it the server's record of field managers alone decides. */
const MAX_STORED_CHARACTERS = 32 << 10;

/** The fields of an object that we wrote, by the server's record, without values: packed for the inventory, '' if there are too many. */
export const writtenOf = (live: LiveObject): string => {
  const { fieldsV1 = {} } = live.metadata.managedFields?.find(isOwnEntry) ?? {};
  const packed = deflateRawSync(JSON.stringify(fieldsV1), { level: 1 }).toString('base64');
  return packed.length > MAX_STORED_CHARACTERS ? '' : packed;
};

/**
 * Fields that we wrote and that the package no longer has, and that server-side apply would leave: somebody wrote another value by hand, what
 * deployed the object before us owns them as well, or the server's record was lost. A field that a controller owns by now was handed to it,
 * as replicas are to an autoscaler, and stays.
 * @param written from writtenOf, when we wrote last; without it, the server's record says what we wrote
 * @param before managers of what deployed the object before us
 */
export const orphanedFields = (
  written: string | undefined,
  live: LiveObject,
  wanted: LiveObject,
  before: readonly string[] | undefined,
): FieldSet | undefined => {
  const entries = live.metadata.managedFields ?? [];
  const ours = entries.find(isOwnEntry)?.fieldsV1 ?? {};
  const theirs = entries.filter((entry) => !isOwnEntry(entry));
  const left = theirs
    .filter((entry) => !isReported(entry, before))
    .reduce(
      (rest, { fieldsV1 = {} }) => subtract(rest, fieldsV1),
      missingFields(written === undefined || written === '' ? ours : unpack(written), live, wanted),
    );
  const shared = theirs
    .filter((entry) => isReported(entry, before))
    .map(({ fieldsV1 = {} }) => subtract(left, subtract(left, fieldsV1)));
  const takes = shared.reduce(unite, subtract(left, ours));
  return pathsOf(takes).length > 0 ? takes : undefined;
};

const unpack = (written: string): FieldSet =>
  parseExactJson(inflateRawSync(Buffer.from(written, 'base64')).toString()) as FieldSet;

/** The fields of a set that the live object has and the package lacks. */
const missingFields = (set: FieldSet, live: unknown, wanted: unknown): FieldSet => {
  const result: Record<string, unknown> = {};
  for (const [entry, below] of Object.entries(set)) {
    const one = entry === '.' ? undefined : memberOf(entry, live, isSameItem);
    if (!one) continue;
    const other = memberOf(entry, wanted, isItemOf);
    if (!other || other[1] === undefined) result[entry] = below;
    else if (isRecord(below)) {
      const inner = missingFields(below, one[1], other[1]);
      if (Object.keys(inner).length > 0) result[entry] = inner;
    }
  }
  return result;
};
