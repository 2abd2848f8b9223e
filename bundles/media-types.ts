/** Every name our formats put on the wire (docs/bundle-format.md section 2). Written once, never changed. */

export const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
export const OCI_INDEX = 'application/vnd.oci.image.index.v1+json';
export const OCI_EMPTY = 'application/vnd.oci.empty.v1+json';
export const OCI_CONFIG = 'application/vnd.oci.image.config.v1+json';
export const DOCKER_CONFIG = 'application/vnd.docker.container.image.v1+json';
export const DOCKER_MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
export const DOCKER_INDEX = 'application/vnd.docker.distribution.manifest.list.v2+json';

export const BUNDLE_KUBERNETES = 'application/vnd.fleet-ferry.bundle.kubernetes.v1';
export const BUNDLE_HOST = 'application/vnd.fleet-ferry.bundle.host.v1';
export const BUNDLE_CONFIG = 'application/vnd.fleet-ferry.bundle.config.v1+json';
/** The only layer of a Kubernetes bundle; unmodified Flux and Argo CD unpack it. */
export const LAYER_KUBERNETES = 'application/vnd.oci.image.layer.v1.tar+gzip';
/** One layer a host package. */
export const LAYER_HOST = 'application/vnd.fleet-ferry.package.host.v1.tar+gzip';

/** A file of a host package that is a separate blob: media type of its layer and `artifactType` of its manifest. */
export const FILE_BLOB = 'application/vnd.fleet-ferry.file.v1';

export const RELEASE_ARTIFACT = 'application/vnd.fleet-ferry.release.v1';
export const SITE_ARTIFACT = 'application/vnd.fleet-ferry.site.v1';
export const RECEIPTS_ARTIFACT = 'application/vnd.fleet-ferry.receipts.v1';
/** Target of a channel's tag `lease`: the newest lease and every root. */
export const LEASE_ARTIFACT = 'application/vnd.fleet-ferry.lease.v1';

/** A bundle that waits for more signatures. It stays in the layout and is never published. */
export const AWAITING_ARTIFACT = 'application/vnd.fleet-ferry.awaiting.v1';
/** The newest statement about a bundle that is released already, and its candidate. It stays in the layout and is never published. */
export const RESTATED_ARTIFACT = 'application/vnd.fleet-ferry.restated.v1';
/** Why the last build did not release a channel: it stays in the layout. */
export const WAITING_ARTIFACT = 'application/vnd.fleet-ferry.waiting.v1';
export const WAITING_JSON = 'application/vnd.fleet-ferry.waiting.v1+json';
/** The audit log of a layout: its entries in segments, and the newest checkpoint. */
export const AUDIT_ARTIFACT = 'application/vnd.fleet-ferry.audit.v1';
/** Verification summaries of a promotion, one a bundle. They stay in the layout and are never published. */
export const SUMMARIES_ARTIFACT = 'application/vnd.fleet-ferry.summaries.v1';
/** One segment of the log: an entry a line. */
export const AUDIT_NDJSON = 'application/vnd.fleet-ferry.audit.v1+ndjson';

export const ROOT_JSON = 'application/vnd.fleet-ferry.root.v1+json';
export const REVOCATIONS_JSON = 'application/vnd.fleet-ferry.revocations.v1+json';
export const SITE_VALUES_JSON = 'application/vnd.fleet-ferry.site-values.v1+json';
/** Layers of an environment that select sites. They stay in the layout and are never published. */
export const SITE_LAYERS_ARTIFACT = 'application/vnd.fleet-ferry.site-layers.v1';
export const SITE_LAYERS_JSON = 'application/vnd.fleet-ferry.site-layers.v1+json';
/** A secret set of one site, an age file (age-encryption.org/v1) to the recipients of its agents. */
export const SEALED_SECRETS = 'application/vnd.fleet-ferry.secrets.v1+age';
export const CANDIDATE_JSON = 'application/vnd.fleet-ferry.candidate.v1+json';
/** The plan of a rollout (docs/promotion.md). */
export const ROLLOUT_JSON = 'application/vnd.fleet-ferry.rollout.v1+json';

/** An image index that was signed, wrapped as evidence for a manifest that it names. */
export const SIGNED_INDEX = 'application/vnd.fleet-ferry.signed-index.v1';
export const SIGNED_INDEX_JSON = 'application/vnd.fleet-ferry.signed-index.v1+json';

/** cosign's older form of a signature: a layer of this type, the signature in its annotation. */
export const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const COSIGN_SIGNATURE = 'dev.cosignproject.cosign/signature';
/** Beside it, of a signature by certificate: the certificate, the entry of the log, the signed timestamp. */
export const COSIGN_CERTIFICATE = 'dev.sigstore.cosign/certificate';
export const COSIGN_LOG_ENTRY = 'dev.sigstore.cosign/bundle';
export const COSIGN_TIMESTAMP = 'dev.sigstore.cosign/rfc3161timestamp';

export const SIGSTORE_BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
/** A layer of cosign's `.att` manifest. */
export const DSSE_ENVELOPE = 'application/vnd.dsse.envelope.v1+json';
export const IN_TOTO = 'application/vnd.in-toto+json';
export const IN_TOTO_STATEMENT = 'https://in-toto.io/Statement/v1';

/** Predicate types of our statements. */
export const PREDICATES = {
  bundle: 'urn:fleet-ferry:bundle:v1',
  release: 'urn:fleet-ferry:release:v1',
  site: 'urn:fleet-ferry:site:v1',
  lease: 'urn:fleet-ferry:lease:v1',
  report: 'urn:fleet-ferry:report:v1',
  receipt: 'urn:fleet-ferry:receipt:v1',
  audit: 'urn:fleet-ferry:audit:v1',
  promotion: 'urn:fleet-ferry:promotion:v1',
  approval: 'urn:fleet-ferry:approval:v1',
  decision: 'urn:fleet-ferry:decision:v1',
  change: 'urn:fleet-ferry:change:v1',
  support: 'urn:fleet-ferry:support:v1',
} as const;

export type StatementKind = keyof typeof PREDICATES;

/** Result of verifying a medium (docs/bundle-format.md section 17). Readers of media do not require it. */
export const VERIFICATION_PREDICATE = 'urn:fleet-ferry:verification:v1';

/** Evidence of the state of a site at a time, for an auditor (docs/how-to/evidence.md). Its subject is a file of the office. */
export const SITE_EVIDENCE_PREDICATE = 'urn:fleet-ferry:site-evidence:v1';

/** SLSA's verification summary, for verifiers that know nothing of promotions. */
export const SLSA_SUMMARY = 'https://slsa.dev/verification_summary/v1';

/** Annotation keys on OCI descriptors. */
export const REF_NAME = 'org.opencontainers.image.ref.name';
