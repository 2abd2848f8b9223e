/** Name of the list beside a built program and in an artifact. */
export const SBOM = 'sbom.cdx.json';

export const OWN_LICENCE = { expression: 'Apache-2.0' } as const;

/** One component of a list. CycloneDX 1.6, "component". */
export type Component = {
  readonly type: 'application' | 'library' | 'framework';
  /** The name of one component within the list. */
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly { readonly expression: string }[];
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  /** Package URL. */
  readonly purl?: string;
};

/** The list of an artifact's components (https://cyclonedx.org/docs/1.6/json). */
export type Sbom = {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
};

/** The list of `artifact`. Components that are in it twice are named once. It has no time and no random number: the same input gives the same bytes. */
export const sbomOf = (artifact: Omit<Component, 'bom-ref'>, components: readonly Component[]): Sbom => {
  const ref = `${artifact.name}@${artifact.version}`;
  const named = new Map(components.map((component) => [component['bom-ref'], component]));
  const sorted = [...named.keys()].toSorted().flatMap((key) => named.get(key) ?? []);
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...artifact, 'bom-ref': ref } },
    components: sorted,
    dependencies: [{ ref, dependsOn: sorted.map((component) => component['bom-ref']) }],
  };
};

/** Without white space: programs read it, and each package on a host has one. */
export const sbomText = (sbom: Sbom): string => `${JSON.stringify(sbom)}\n`;
