// What a detector found in a text that it read.

export type Detector = 'payment_card' | 'iban' | 'us_ssn' | 'private_key' | 'api_token'

export interface Match {
  detector: Detector
  /** Which of its kind, for a person. */
  label: string
  /** Without what stood between its characters. */
  value: string
  start: number
  end: number
}
