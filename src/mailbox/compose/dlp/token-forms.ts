// Tokens of clouds and APIs by the form that their issuers gave them so that they can be found. Every part has a length at the
// most: from each place of a hostile word the whole rest would be read otherwise.

export interface TokenForm {
  label: string
  /** How it begins. */
  prefix: string
  /** The whole of it, prefix included. */
  form: RegExp
  /** Nothing else has this form, so it need not look random. */
  isCertain?: boolean
}

/** By their first two characters, the longest prefix first. A pattern of all is three times slower. */
interface PrefixIndex<Form> {
  /** 1 where a prefix begins so. */
  beginnings: Uint8Array
  forms: ReadonlyMap<number, readonly Form[]>
}

export const beginningOf = (first: number, second: number): number => (first << 7) | second

export function indexed<Form>(forms: readonly Form[], prefixOf: (form: Form) => string): PrefixIndex<Form> {
  const longestFirst = forms.toSorted((a, b) => prefixOf(b).length - prefixOf(a).length)
  const byBeginning = Map.groupBy(longestFirst, form =>
    beginningOf(prefixOf(form).charCodeAt(0), prefixOf(form).charCodeAt(1)),
  )
  const beginnings = new Uint8Array(128 * 128)
  for (const beginning of byBeginning.keys()) beginnings[beginning] = 1
  return { beginnings, forms: byBeginning }
}

/** Forms of one issuer that differ in how they begin. */
const alike = (label: string, prefixes: string, rest: string, { isCertain = false } = {}): TokenForm[] =>
  prefixes.split(' ').map(prefix => ({ label, prefix, form: new RegExp(prefix + rest, 'y'), isCertain }))

export const TOKENS: readonly TokenForm[] = [
  {
    label: 'API key of this service',
    prefix: 'svc_',
    form: /svc_(?=[A-Za-z_-]{0,40}\d)(?:[A-Za-z0-9]{4,24}_[A-Za-z0-9_-]{24,400}|[A-Za-z0-9]{24,400})/y,
  },
  { label: 'Webhook secret', prefix: 'whsec_', form: /whsec_[A-Za-z0-9+/_-]{24,400}={0,2}/y },
  ...alike('AWS access key', 'AKIA ASIA ABIA ACCA', '[A-Z0-9]{16}(?![A-Za-z0-9])', { isCertain: true }),
  ...alike('GitHub token', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9]{36,255}'),
  { label: 'GitHub token', prefix: 'github_pat_', form: /github_pat_[A-Za-z0-9_]{40,255}/y },
  ...alike('GitLab token', 'glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glimt- glagent-', '[A-Za-z0-9_-]{20,400}'),
  { label: 'Slack token', prefix: 'xox', form: /xox[abceoprs]-(?:[A-Za-z0-9]{1,64}-){0,8}[A-Za-z0-9]{10,400}/y },
  { label: 'Slack token', prefix: 'xapp-', form: /xapp-\d-[A-Za-z0-9-]{20,400}/y },
  { label: 'Slack webhook', prefix: 'hooks.slack.com/', form: /hooks\.slack\.com\/services\/[A-Za-z0-9/]{30,400}/y },
  { label: 'Discord webhook', prefix: '/api/webhooks/', form: /\/api\/webhooks\/\d{15,22}\/[A-Za-z0-9_-]{50,400}/y },
  ...alike('Stripe key', 'sk_live_ sk_test_ rk_live_ rk_test_', '[A-Za-z0-9]{16,400}'),
  { label: 'Google API key', prefix: 'AIza', form: /AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/y },
  { label: 'Google OAuth token', prefix: 'ya29.', form: /ya29\.[A-Za-z0-9_-]{20,400}/y },
  { label: 'Google client secret', prefix: 'GOCSPX-', form: /GOCSPX-[A-Za-z0-9_-]{28}/y },
  { label: 'Anthropic key', prefix: 'sk-ant-', form: /sk-ant-[A-Za-z0-9_-]{20,400}/y },
  { label: 'API key', prefix: 'sk-', form: /sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,400}/y },
  { label: 'Hugging Face token', prefix: 'hf_', form: /hf_[A-Za-z0-9]{30,400}/y },
  { label: 'npm token', prefix: 'npm_', form: /npm_[A-Za-z0-9]{36}/y },
  { label: 'PyPI token', prefix: 'pypi-', form: /pypi-[A-Za-z0-9_-]{50,400}/y },
  { label: 'SendGrid key', prefix: 'SG.', form: /SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/y },
  { label: 'Twilio key', prefix: 'SK', form: /SK[0-9a-f]{32}(?![0-9a-f])/y },
  { label: 'Mailgun key', prefix: 'key-', form: /key-[0-9a-f]{32}(?![0-9a-f])/y },
  { label: 'Mailchimp key', prefix: '-us', form: /(?<=[0-9a-f]{32})-us\d{1,2}(?!\d)/y },
  ...alike('DigitalOcean token', 'dop_v1_ doo_v1_ dor_v1_', '[a-f0-9]{64}'),
  { label: 'Azure storage key', prefix: 'AccountKey=', form: /AccountKey=[A-Za-z0-9+/]{86}==/y },
  { label: 'Azure signature', prefix: 'SharedAccessKey=', form: /SharedAccessKey=[A-Za-z0-9+/]{43}=/y },
  {
    label: 'JSON Web Token',
    prefix: 'eyJ',
    form: /eyJ[A-Za-z0-9_-]{10,400}\.eyJ[A-Za-z0-9_-]{10,9999}\.[A-Za-z0-9_-]{20,999}/y,
  },
  ...alike('Shopify token', 'shpat_ shpca_ shppa_ shpss_', '[a-fA-F0-9]{32}'),
  { label: 'Groq key', prefix: 'gsk_', form: /gsk_[A-Za-z0-9]{40,400}/y },
  { label: 'xAI key', prefix: 'xai-', form: /xai-[A-Za-z0-9]{60,400}/y },
  { label: 'Perplexity key', prefix: 'pplx-', form: /pplx-[A-Za-z0-9]{40,400}/y },
  { label: 'Replicate token', prefix: 'r8_', form: /r8_[A-Za-z0-9]{37}/y },
  { label: 'Resend key', prefix: 're_', form: /re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}(?![A-Za-z0-9])/y },
  { label: 'Brevo key', prefix: 'xkeysib-', form: /xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}/y },
  { label: 'Doppler token', prefix: 'dp.', form: /dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9._-]{40,400}/y },
  ...alike('Atlassian token', 'ATATT3 ATCTT3 ATSTT3', '[A-Za-z0-9_=-]{60,400}'),
  { label: 'Facebook token', prefix: 'EAA', form: /EAA[A-Za-z0-9]{87,400}/y },
  { label: 'Alibaba access key', prefix: 'LTAI', form: /LTAI[A-Za-z0-9]{17,26}(?![A-Za-z0-9])/y },
  { label: 'Azure client secret', prefix: '8Q~', form: /(?<=[A-Za-z0-9_~.-]{3})8Q~[A-Za-z0-9_~.-]{31,34}/y },
  { label: 'Heroku key', prefix: 'HRKU-', form: /HRKU-[A-Za-z0-9_-]{36,400}/y },
  { label: 'Netlify token', prefix: 'nfp_', form: /nfp_[A-Za-z0-9]{36,400}/y },
  { label: 'Supabase token', prefix: 'sbp_', form: /sbp_[a-f0-9]{40}/y },
  { label: 'Supabase key', prefix: 'sb_secret_', form: /sb_secret_[A-Za-z0-9_-]{30,400}/y },
  { label: 'PlanetScale token', prefix: 'pscale_', form: /pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,400}/y },
  { label: 'Pulumi token', prefix: 'pul-', form: /pul-[a-f0-9]{40}/y },
  { label: 'Terraform token', prefix: '.atlasv1.', form: /(?<=[A-Za-z0-9]{14})\.atlasv1\.[A-Za-z0-9_=-]{60,400}/y },
  { label: 'Figma token', prefix: 'figd_', form: /figd_[A-Za-z0-9_-]{38,400}/y },
  ...alike('Sentry token', 'sntrys_ sntryu_', '[A-Za-z0-9_+/=-]{40,400}'),
  { label: 'Tailscale key', prefix: 'tskey-', form: /tskey-[a-z]{3,12}-[A-Za-z0-9-]{20,400}/y },
  { label: 'RubyGems key', prefix: 'rubygems_', form: /rubygems_[a-f0-9]{48}/y },
  { label: 'CircleCI token', prefix: 'CCIPAT_', form: /CCIPAT_[A-Za-z0-9_]{40,400}/y },
  { label: 'Grafana token', prefix: 'glc_', form: /glc_[A-Za-z0-9+/]{32,400}={0,2}/y },
  { label: 'Mapbox token', prefix: 'sk.eyJ', form: /sk\.eyJ[A-Za-z0-9_-]{20,400}\.[A-Za-z0-9_-]{20,100}/y },
  { label: 'Databricks token', prefix: 'dapi', form: /dapi[a-f0-9]{32}(?![a-f0-9])/y },
  { label: 'Vault token', prefix: 'hvs.', form: /hvs\.[A-Za-z0-9_-]{24,400}/y },
  { label: 'Linear key', prefix: 'lin_api_', form: /lin_api_[A-Za-z0-9]{32,400}/y },
  { label: 'Notion token', prefix: 'ntn_', form: /ntn_[A-Za-z0-9]{40,400}/y },
  { label: 'Postman key', prefix: 'PMAK-', form: /PMAK-[a-f0-9]{24}-[a-f0-9]{34}/y },
  { label: 'Square token', prefix: 'sq0', form: /sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,400}/y },
  { label: 'Telegram token', prefix: ':AA', form: /(?<=\b\d{8,10}):AA[A-Za-z0-9_-]{33}/y },
  { label: 'Docker token', prefix: 'dckr_pat_', form: /dckr_pat_[A-Za-z0-9_-]{24,400}/y },
  { label: 'New Relic key', prefix: 'NRAK-', form: /NRAK-[A-Z0-9]{27}/y },
  { label: 'Grafana token', prefix: 'glsa_', form: /glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}/y },
  { label: 'Age key', prefix: 'AGE-SECRET-KEY-', form: /AGE-SECRET-KEY-1[A-Z0-9]{50,400}/y },
]
