import { parseStrictJson } from '../../json/strict-json.ts';
import { parseAs } from '../../json/parse-as.ts';
import { BUNDLE_CONFIG } from '../../json/schema/validators.js';
import type { BundleConfig } from '../../schemas/types/bundle-config.ts';

/** Config blob of a bundle (docs/bundle-format.md section 4). */
export type { BundleConfig } from '../../schemas/types/bundle-config.ts';

export type BundleAssignment = BundleConfig['assignments'][number];

/** Names that one package may use on a host (docs/workspaces.md, docs/bundle-format.md section 4). An absent list is empty. */
export type PackageBounds = NonNullable<BundleAssignment['bounds']>;

/** The platform's rules for applying a package on a cluster. Agents that do not know it use their defaults. */
export type ApplyRules = NonNullable<BundleAssignment['rules']>;

/** A rule of the platform for objects of packages, selected by kind, name and namespace. */
export type ObjectRule = NonNullable<BundleConfig['objectRules']>[number];

/** Entry of `critical` in bundles with such rules: older agents would correct fields that belong to others. */
export const OBJECT_RULES_CRITICAL = 'objectRules';

/** Maps a site value to the one field that takes it. The substitution is typed, never textual. */
export type SiteInputField = BundleConfig['siteInputs']['fields'][number];

/** An image or file that is delivered with the bundle; for an image with everything that its manifest reaches. */
export type ClosureEntry = BundleConfig['closure'][number];

/** Lets agents reboot their hosts when that is required. Agents that do not know it reboot nothing. */
export type RebootPolicy = NonNullable<BundleConfig['reboot']>;

/** A mapping in an object that gets all values of the site that the package may read, as text. Kubernetes. */
export type CompletedConfig = NonNullable<BundleConfig['siteInputs']['configs']>[number];

/** 16 MiB: several times the size of ten thousand assignments with their closure. */
export const MAX_CONFIG_BYTES = 16 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED */
export const parseBundleConfig = (bytes: Uint8Array): BundleConfig =>
  parseAs(BUNDLE_CONFIG, parseBundleJson(bytes), 'bundle config');

/** The JSON of a bundle config, or of a part of it, within the limits of its readers. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP */
export const parseBundleJson = (bytes: Uint8Array): unknown =>
  parseStrictJson(bytes, { maxBytes: MAX_CONFIG_BYTES, maxDepth: 64 }, 'bundle config');
