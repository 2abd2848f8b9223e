/** The part of sigstore's verifier that we use. The build puts it into a file beside the bundled agent (bundling/libraries-beside.ts). */
export { toSignedEntity, toTrustMaterial, VerificationError, Verifier } from '@sigstore/verify';
